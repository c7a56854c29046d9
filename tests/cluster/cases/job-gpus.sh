#!/usr/bin/env bash
# Which GPU each rank of a Slurm job takes, by its UUID, in every form in which it may be shown GPUs. The GPUs are those of
# the simulator for tests; who sees which is Slurm's doing.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi slurm gpulot simulator
slurm_up 1
export LD_LIBRARY_PATH=$SIMULATOR GPULOT_CUDASIM_DEVICES=2 GPULOT_CUDASIM_QUIET=1 GPULOT_CUDASIM_FORCE=1
measure=(measure --batch 1 --context 4 --width 16 --warmup 1 --repeats 2 --quiet)
read -r gpu0 gpu1 < <("$GPULOT" environment --device cuda:local | grep -Eo '"uuid": *"[^"]*"' | cut -d'"' -f4 | paste -sd' ')
case $gpu0$gpu1 in
GPU-43554441*GPU-43554441*) ;;
*) give_up "the simulator shows no two GPUs: $gpu0 $gpu1" ;;
esac

# What some sites do to a task's environment.
cat >by-uuid <<END
#!/bin/sh
case \$CUDA_VISIBLE_DEVICES in 0) CUDA_VISIBLE_DEVICES=$gpu0 ;; 1) CUDA_VISIBLE_DEVICES=$gpu1 ;; *) exit 9 ;; esac
exec "$GPULOT" "\$@"
END
cat >reversed <<END
#!/bin/sh
CUDA_VISIBLE_DEVICES=1,0 exec "$GPULOT" "\$@"
END
chmod 755 by-uuid reversed

# taken NAME UUIDS ORDINALS PROGRAM OPTIONS...: two ranks of one node; what the archive says of them, in rank order.
taken()
{
  local name=$1 uuids=$2 ordinals=$3 program=$4
  shift 4
  rm -f a.h5
  timeout 60 srun --mpi=pmix -N1 --ntasks-per-node=2 "$@" "$program" "${measure[@]}" --device cuda:local \
    --output "$PWD/a.h5" >run.txt 2>&1
  same "$name: status" $? 0
  same "$name: GPUs" "$("$GPULOT" export a.h5 --format json | grep -Eo '"uuid": *"[^"]*"' | cut -d'"' -f4 | paste -sd' ')" "$uuids"
  same "$name: ordinals" "$("$GPULOT" export a.h5 --format json | grep -Eo '"ordinal": *[0-9]+' | grep -Eo '[0-9]+$' | paste -sd' ')" \
    "$ordinals"
}

taken "one each, by global index" "$gpu0 $gpu1" "0 0" "$GPULOT" --gpus-per-task=1
taken "one each, by UUID" "$gpu0 $gpu1" "0 0" ./by-uuid --gpus-per-task=1
taken "one each, bound the other way round" "$gpu1 $gpu0" "0 0" "$GPULOT" --gres=gpu:2 --gpu-bind=map_gpu:1,0
taken "both see both" "$gpu0 $gpu1" "0 1" "$GPULOT" --gres=gpu:2
taken "both see both, in another order" "$gpu1 $gpu0" "0 1" ./reversed --gres=gpu:2
taken "nothing is hidden" "$gpu0 $gpu1" "0 1" "$GPULOT" --gpus-per-task=1 --gpu-bind=none

timeout 60 srun --mpi=pmix -N1 -n2 --gres=gpu:2 "$GPULOT" "${measure[@]}" --device cuda:0 --output "$PWD/b.h5" >both.txt 2>&1
same "both on one GPU: status 2" $? 2
has "both on one GPU: refused by name" "rank 0 and rank 1 hold the same device, $gpu0" both.txt
holds "both on one GPU: no archive" test ! -e b.h5
finish
