#!/usr/bin/env bash
# A job that is requeued overwrites nothing: what it had becomes an archive, and it measures on under a new name.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi slurm gpulot
slurm_up 2
for launcher in srun mpirun; do
  job=$(GPULOT_LAUNCHER=$launcher sbatch --parsable -N2 --ntasks-per-node=1 -o $launcher.log \
    "$REPO_ROOT/slurm/measure.sbatch" "${measure_long[@]}")
  first=gpulot-$job.h5
  second=gpulot-$job.r1.h5
  wait_measuring "$first.spool" 2 30 || give_up "$launcher: the ranks did not begin to measure" $launcher.log
  scontrol requeue "$job"
  holds "$launcher: requeued and started again" start_again "$job"
  holds "$launcher: the second attempt measures" wait_measuring "$second.spool" 2 60
  whole_archive "$launcher: the first attempt's archive" "$first" 2
  holds "$launcher: with what it had measured" test "$(archive_rows "$first" warm_forward)" -ge 2
  cp "$first" before.h5
  scancel --batch -s USR1 "$job"
  wait_job_end "$job" 20
  whole_archive "$launcher: the second attempt's archive" "$second" 2
  holds "$launcher: the first one is untouched" cmp -s "$first" before.h5
  same "$launcher: restarts in the records" "$(archive_field "$second" slurm_restart_count)" "1 1"
  same "$launcher: one label" "$(archive_field "$second" label)" "$(archive_field "$first" label)"
  same "$launcher: the second attempt names the first one's run" \
    "$(archive_field "$second" continues_run_id | tr ' ' '\n' | sort -u)" "$(archive_field "$first" run_id | tr ' ' '\n' | sort -u)"
  holds "$launcher: two run ids" test "$(archive_field "$first" run_id)" != "$(archive_field "$second" run_id)"
  has "$launcher: both attempts are in the log" 'attempt 1' $launcher.log
done
finish
