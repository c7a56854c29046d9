#!/usr/bin/env bash
# Where ranks are and what they see, in every usual way of asking Slurm for GPUs.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi slurm gpulot
slurm_up 2

# seen NAME LOCAL_RANKS VISIBLE OPTIONS...: four ranks on two nodes by srun; what the archive says of them.
seen()
{
  local name=$1 places=$2 visible=$3
  shift 3
  rm -f a.h5
  timeout 60 srun --mpi=pmix -N2 "$@" "$GPULOT" measure "${measure_short[@]}" --output "$PWD/a.h5" >run.txt 2>&1
  same "$name: status" $? 0
  whole_archive "$name: four ranks" a.h5 4
  same "$name: places" "$(archive_field a.h5 local_rank)" "$places"
  same "$name: Slurm's places" "$(archive_field a.h5 slurm_local_id)" "$places"
  same "$name: nodes" "$(archive_field a.h5 host)" "node1 node1 node2 node2"
  same "$name: GPUs seen" "$(archive_field a.h5 visible_devices)" "$visible"
}

if slurm_binds_per_task; then
  seen "--gpus-per-task=1" "0 0 1 1" "0 0 1 1" --ntasks-per-node=2 --gpus-per-task=1
  seen "--gpu-bind=per_task:1" "0 0 1 1" "0 0 1 1" --ntasks-per-node=2 --gres=gpu:2 --gpu-bind=per_task:1
else
  seen "--gpus-per-task=1" "0 0 1 1" "0,1 0,1 0,1 0,1" --ntasks-per-node=2 --gpus-per-task=1
fi
seen "--gpu-bind=single:1" "0 0 1 1" "0 0 1 1" --ntasks-per-node=2 --gres=gpu:2 --gpu-bind=single:1
seen "--gpu-bind=map_gpu" "0 0 1 1" "0 0 1 1" --ntasks-per-node=2 --gres=gpu:2 --gpu-bind=map_gpu:1,0
seen "--gpu-bind=closest" "0 0 1 1" "0,1 0,1 0,1 0,1" --ntasks-per-node=2 --gres=gpu:2 --gpu-bind=closest
seen "--gres=gpu:2" "0 0 1 1" "0,1 0,1 0,1 0,1" --ntasks-per-node=2 --gres=gpu:2
seen "--ntasks-per-gpu=1" "0 0 1 1" "0 0 1 1" --gpus=4 --ntasks-per-gpu=1

# Inside a job, by mpirun: Slurm's own numbers are those of the daemons, and must not be taken for the ranks'.
cat >mpirun.sbatch <<END
#!/bin/bash
mpirun "$GPULOT" measure ${measure_short[*]} --output b.h5
END
run_job 30 -N2 --ntasks-per-node=2 --gres=gpu:2 -o mpirun.txt mpirun.sbatch
same "mpirun: status" "$status" 0
same "mpirun: places" "$(archive_field b.h5 local_rank)" "0 0 1 1"
same "mpirun: nodes" "$(archive_field b.h5 host)" "node1 node1 node2 node2"
same "mpirun: GPUs seen" "$(archive_field b.h5 visible_devices)" "0,1 0,1 0,1 0,1"

# CPUs that a job has and binds no task to: not those of a rank, although they are fewer than the node's.
bound()
{
  rm -f c.h5
  timeout 60 srun --mpi=pmix -N2 --ntasks-per-node=2 sh -c "$2 \"\$@\"" sh "$GPULOT" measure "${measure_short[@]}" \
    --output "$PWD/c.h5" >cpus.txt 2>&1
  same "$1: status" $? 0
  same "$1: who bound the CPUs" "$(archive_field c.h5 binding)" "$3"
}

# Two CPUs that there are.
mapfile -t cpus < <(sed -n 's/^Cpus_allowed_list:[[:blank:]]*//p' /proc/self/status | tr , '\n' |
  while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done | head -n 2)
if [ "${#cpus[@]}" = 2 ]; then
  bound "one CPU for all" "exec taskset -c ${cpus[0]}" "none none none none"
  bound "one CPU each" "exec taskset -c \$((SLURM_LOCALID ? ${cpus[1]} : ${cpus[0]}))" "launcher launcher launcher launcher"
fi
rm -f c.h5

# Tasks that do not know of each other would each take themselves for the only one.
timeout 60 srun --mpi=none -N1 -n2 "$GPULOT" measure "${measure_short[@]}" --output "$PWD/c.h5" >none.txt 2>&1
same "--mpi=none: status 2" $? 2
holds "--mpi=none: no archive" test ! -e c.h5
finish
