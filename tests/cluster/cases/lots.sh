#!/usr/bin/env bash
# slurm/lots.sbatch: an array with a task per lot, and a job behind it that checks all of them together.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi slurm gpulot
slurm_up 3
lots=$(sbatch --parsable --array=1-3 -N1 --ntasks-per-node=2 --gpus-per-task=1 "$REPO_ROOT/slurm/lots.sbatch" \
  "${measure_short[@]}")
check_log()
{
  compgen -G "gpulot-check-*.log"
}
checked()
{
  check_log >/dev/null && grep -q 'all lots of array' gpulot-check-*.log
}
holds "the checking job runs after the array" wait_until 60 checked
log=$(check_log)
for lot in 1 2 3; do
  whole_archive "lot $lot has two ranks" "lot-${lots}_$lot.h5" 2
  same "lot $lot: its task" "$(archive_field "lot-${lots}_$lot.h5" slurm_array_task)" "$lot $lot"
  # Whether times on this machine are even is not what is tested.
  has "lot $lot was judged" "archive $lot  .*/lot-${lots}_$lot.h5  [0-2] of 2 GPUs ok" "$log"
done
has "all lots are there" "3 of 3 lots of array $lots have an archive" "$log"
has "all GPUs were judged together" "^[0-6] of 6 GPUs ok" "$log"
has "and the verdict is said" "every GPU is ok|not every GPU is ok" "$log"
same "one checking job" "$(check_log | wc -l)" 1

# A lot that is missing is a bad answer, not a good one of fewer lots.
rm "lot-${lots}_2.h5"
run_job 30 -o missing.log "$REPO_ROOT/slurm/lots.sbatch" check "$lots" 3
same "a missing lot: status 1" "$status" 1
has "and it is counted" "2 of 3 lots" missing.log
run_job 30 -o none.log "$REPO_ROOT/slurm/lots.sbatch" "${measure_short[@]}"
same "without --array: status 2" "$status" 2
finish
