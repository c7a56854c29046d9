#!/usr/bin/env bash
# Preemption with requeue: a job of a better partition takes the nodes. What was measured becomes an archive, and the
# preempted job measures on when it gets its nodes back.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi slurm gpulot
SLURM_MORE_CONF='PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=better Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=off'
slurm_up 2
job=$(sbatch --parsable --exclusive -N2 --ntasks-per-node=2 -o preempted.log "$REPO_ROOT/slurm/measure.sbatch" "${measure_long[@]}")
first=gpulot-$job.h5
second=gpulot-$job.r1.h5
wait_measuring "$first.spool" 4 60 || give_up "the ranks did not begin to measure" preempted.log
better=$(sbatch --parsable --exclusive -p better -N2 -o better.log --wrap 'sleep 1')
holds "the better job gets the nodes and ends" wait_job_end "$better" 60
same "it ended well" "$(job_field "$better" JobState)" COMPLETED
holds "the preempted job starts again" start_again "$job"
holds "and measures" wait_measuring "$second.spool" 4 60
whole_archive "what it had measured is an archive of four ranks" "$first" 4
holds "with rows of all" test "$(archive_rows "$first" warm_forward)" -ge 4
has "the log tells of the preemption" 'PREEMPTION|told to end' preempted.log
scancel --batch -s USR1 "$job"
holds "the second attempt ends" wait_job_end "$job" 30
whole_archive "its archive" "$second" 4
same "which names the first one's run" "$(archive_field "$second" continues_run_id | tr ' ' '\n' | sort -u)" \
  "$(archive_field "$first" run_id | tr ' ' '\n' | sort -u)"
finish
