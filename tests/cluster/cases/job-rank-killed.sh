#!/usr/bin/env bash
# kill -9 of one rank of a batch job: the job itself makes an archive of what all ranks measured.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi slurm gpulot
slurm_up 2
for launcher in srun mpirun; do
  job=$(GPULOT_LAUNCHER=$launcher sbatch --parsable --no-requeue -N2 --ntasks-per-node=2 -o $launcher.log \
    "$REPO_ROOT/slurm/measure.sbatch" "${measure_long[@]}")
  archive=gpulot-$job.h5
  wait_measuring "$archive.spool" 4 30 || give_up "$launcher: the ranks did not begin to measure" $launcher.log
  on node2 pkill -KILL -n -x gpulot
  began=$SECONDS
  holds "$launcher: the job ends" wait_job_end "$job" 30
  echo "# $launcher: over after $((SECONDS - began)) s"
  holds "$launcher: in time" test $((SECONDS - began)) -le 20
  same "$launcher: status 1" "$(job_field "$job" ExitCode)" 1:0
  whole_archive "$launcher: four ranks are in the archive" "$archive" 4
  holds "$launcher: with rows of all of them" test "$(archive_rows "$archive" warm_forward)" -ge 4
  holds "$launcher: the killed one is lost" test "$(archive_outcomes "$archive" | grep -o lost | wc -l)" -ge 1
  has "$launcher: the log names the archive" "archive .*$archive, status 1" $launcher.log
  holds "$launcher: no rank is left" wait_until 5 on node1 sh -c '! pgrep -x gpulot >/dev/null'
done
finish
