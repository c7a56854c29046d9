#!/usr/bin/env bash
# slurm/measure.sbatch over 3 nodes with 2 GPUs each: one archive that names them, with srun and with mpirun.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi slurm gpulot
slurm_up 3
mkdir results

for launcher in srun mpirun; do
  for layout in "--ntasks-per-node=2 --gpus-per-task=1" "--gpus-per-node=2"; do
    name="$launcher $layout"
    # shellcheck disable=SC2086 # a list of options
    GPULOT_LAUNCHER=$launcher GPULOT_OUTPUT_DIR=$PWD/results run_job 60 -o job.log -N3 $layout \
      "$REPO_ROOT/slurm/measure.sbatch" "${measure_short[@]}"
    archive=results/gpulot-$job.h5
    same "$name: status" "$status" 0
    whole_archive "$name: six ranks" "$archive" 6
    same "$name: three nodes" "$(archive_field "$archive" host)" "node1 node1 node2 node2 node3 node3"
    same "$name: places on them" "$(archive_field "$archive" local_rank)" "0 0 0 1 1 1"
    same "$name: the job" "$(archive_field "$archive" slurm_job_id | tr ' ' '\n' | sort -u)" "$job"
    same "$name: the launcher" "$(archive_field "$archive" launcher | tr ' ' '\n' | sort -u)" "$launcher"
    same "$name: the label" "$(archive_field "$archive" label | tr ' ' '\n' | sort -u)" "slurm-$job"
    same "$name: all rows" "$(archive_rows "$archive" warm_forward)" 12
    holds "$name: nothing else is left" test ! -e "$archive.spool"
    [ "$case_bad" = 0 ] || show_tail job.log
    rm -f job.log
  done
done

# What is refused is refused on all ranks, once, with nothing written.
run_job 30 -N2 --ntasks-per-node=2 -o refused.log "$REPO_ROOT/slurm/measure.sbatch" --device host --repeats 0
same "a refused measurement: status 2" "$status" 2
holds "and no archive" test ! -e "gpulot-$job.h5"
run_job 30 -N1 -o noprogram.log --export=ALL,GPULOT=/nowhere/gpulot "$REPO_ROOT/slurm/measure.sbatch" \
  "${measure_short[@]}"
same "no such program: status 2" "$status" 2
has "and says so" 'refused: there is no program /nowhere/gpulot on node' noprogram.log
finish
