#!/usr/bin/env bash
# A node dies in mid-job: what its ranks and the others measured is not lost.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi slurm gpulot
export SLURM_NODE_TIMEOUT=5
slurm_up 3
for launcher in srun mpirun; do
  GPULOT_LAUNCHER=$launcher sbatch --parsable --no-requeue -N2 --ntasks-per-node=2 -w node2,node3 -o $launcher.log \
    "$REPO_ROOT/slurm/measure.sbatch" "${measure_long[@]}" >$launcher.job
done
for launcher in srun mpirun; do
  wait_measuring "gpulot-$(cat $launcher.job).h5.spool" 4 30 ||
    give_up "$launcher: the ranks did not begin to measure" $launcher.log
done
# A job that outlives its node: under srun the other node's ranks measure to their end. With Open MPI 5 Slurm ends them.
outliving=$(sbatch --parsable --no-requeue --no-kill -N2 --ntasks-per-node=2 -w node2,node3 -o outliving.log \
  "$REPO_ROOT/slurm/measure.sbatch" --device host --batch 1 --context 16 --width 64 --repeats 2 --soak 8s --memory 1% \
  --threads 1 --rank-timeout 12s)
wait_measuring "gpulot-$outliving.h5.spool" 4 60 || give_up "outliving: the ranks did not begin to measure" outliving.log
host_kill node3
began=$SECONDS
for launcher in srun mpirun; do
  job=$(cat $launcher.job)
  archive=gpulot-$job.h5
  holds "$launcher: the job ends" wait_job_end "$job" 60
  echo "# $launcher: $(job_field "$job" JobState), noticed $((SECONDS - began)) s after node3 died"
  if [ ! -e "$archive" ]; then
    # Slurm ended the script too: the one command that the log and the README name.
    has "$launcher: the log names the command" "gpulot recover .*$archive.spool --output .*$archive" $launcher.log
    timeout 60 "$GPULOT" recover "$archive.spool" --output "$archive" >recover.txt 2>&1
  fi
  whole_archive "$launcher: four ranks are in the archive" "$archive" 4
  holds "$launcher: with rows of all of them" test "$(archive_rows "$archive" warm_forward)" -ge 4
  holds "$launcher: the dead node's ranks are typed" \
    test "$(archive_outcomes "$archive" | grep -Eo 'lost|interrupted' | wc -l)" -ge 2
done
holds "outliving: the job ends" wait_job_end "$outliving" 120
archive=gpulot-$outliving.h5
whole_archive "outliving: four ranks are in the archive" "$archive" 4
if mpirun --version | grep -q "(Open MPI) 4"; then
  same "outliving: two measured to their end, two are lost" \
    "$(archive_outcomes "$archive" | tr ' ' '\n' | sort | paste -sd' ')" "lost lost ok ok"
  lacks "outliving: nobody had to recover" "recovering" outliving.log
else
  holds "outliving: with rows of all of them" test "$(archive_rows "$archive" warm_forward)" -ge 4
fi
host_up node3
slurmd_up node3
holds "the node comes back" wait_until 30 slurm_nodes_idle 3
finish
