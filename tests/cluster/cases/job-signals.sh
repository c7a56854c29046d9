#!/usr/bin/env bash
# The signal before the time limit, and scancel: what was measured is in an archive that says how it ended.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi slurm gpulot
export SLURM_KILL_WAIT=10 # mpirun itself needs 4 s
slurm_up 2

starts=0

# submit LAUNCHER OPTIONS...: a long measurement on two nodes; sets $job, $archive and $log.
submit()
{
  local launcher=$1
  shift
  log=job-$((starts += 1)).log
  job=$(GPULOT_LAUNCHER=$launcher sbatch --parsable -N2 --ntasks-per-node=2 -o "$log" "$@" \
    "$REPO_ROOT/slurm/measure.sbatch" "${measure_long[@]}")
  archive=gpulot-$job.h5
}

# start LAUNCHER OPTIONS...: the same, once all ranks measure.
start()
{
  submit "$@"
  wait_measuring "$archive.spool" 4 30 || give_up "$1: the ranks did not begin to measure" "$log"
}

# kept NAME: the archive is there and has rows of all ranks.
kept()
{
  whole_archive "$1: four ranks" "$archive" 4
  holds "$1: measured passes are kept" test "$(archive_rows "$archive" warm_forward)" -ge 4
  has "$1: the log names the archive" "archive .*$archive, status" "$log"
}

# For real: Slurm looks every 30 s and sends the signal a minute before the limit of one minute. Looked at in the end.
start srun --time=1 --signal=B:USR1@60
limited=("$job" "$archive" "$log")

for launcher in srun mpirun; do
  name="$launcher, USR1"
  start $launcher
  scancel --batch -s USR1 "$job"
  holds "$name: the job ends within 15 s" wait_job_end "$job" 15
  same "$name: status 1" "$(job_field "$job" ExitCode)" 1:0
  kept "$name"
  same "$name: every rank was interrupted" "$(archive_outcomes "$archive")" "interrupted interrupted interrupted interrupted"
  holds "$name: nothing is left to recover" test ! -e "$archive.spool"
done

for launcher in srun mpirun; do
  name="$launcher, scancel"
  start $launcher
  scancel "$job"
  holds "$name: the job ends within 15 s" wait_job_end "$job" 15
  kept "$name"
done

job=${limited[0]} archive=${limited[1]} log=${limited[2]}
holds "time limit: the job ends before it" wait_job_end "$job" 45
kept "time limit"
has "time limit: the job was told" "time is nearly up" "$log"
finish
