#!/usr/bin/env bash
# The harness itself, with Slurm: up and down in time, and everything that the other cases build on.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi slurm
began=$SECONDS
slurm_up 3
holds "three nodes are idle in time" test $((SECONDS - began)) -le 20
build_program where
build_program signals

# srun
timeout 60 srun --mpi=pmix -N2 -n4 --ntasks-per-node=2 --gpus-per-task=1 "$CLUSTER_DIR/bin/where" >srun.txt 2>&1
same "srun with PMIx ends well" $? 0
same "two ranks on each of two nodes" "$(values host srun.txt)" "node1 node1 node2 node2"
if slurm_binds_per_task; then
  same "each sees one GPU" "$(values visible srun.txt)" "0 0 1 1"
fi
same "every message arrived" "$(count_lines ring=ok srun.txt)" 4

# sbatch with mpirun
run_job 30 -N2 --ntasks-per-node=2 --gres=gpu:2 -o mpirun.txt --wrap "mpirun $CLUSTER_DIR/bin/where"
same "sbatch with mpirun ends well" "$status" 0
same "two ranks on each of two nodes, by mpirun" "$(values host mpirun.txt)" "node1 node1 node2 node2"

# Signals: USR1 to the batch shell, handed on.
cat >signals.sbatch <<'END'
#!/bin/bash
trap 'kill -USR1 "$launcher"' USR1
case $1 in
srun) srun --mpi=pmix "$CLUSTER_DIR/bin/signals" 60 & ;;
mpirun) mpirun "$CLUSTER_DIR/bin/signals" 60 & ;;
esac
launcher=$!
while kill -0 "$launcher" 2>/dev/null; do
  wait "$launcher"
done
echo "restarts=${SLURM_RESTART_COUNT:-0}"
END
for launcher in srun mpirun; do
  job=$(sbatch --parsable -N2 --ntasks-per-node=2 -o "$launcher-signal.txt" signals.sbatch $launcher)
  wait_for_line started "$launcher-signal.txt" 30
  scancel --batch -s USR1 "$job"
  wait_job_end "$job" 20
  same "$launcher: every rank got the signal" "$(count_lines signal=USR1 "$launcher-signal.txt")" 4
  has "$launcher: the job ended in order" told=1 "$launcher-signal.txt"
done

# Requeue.
job=$(sbatch --parsable -N1 -n2 -o requeue.txt --open-mode=append signals.sbatch srun)
wait_for_line started requeue.txt 30
scontrol requeue "$job"
holds "a requeued job can be started without its wait" start_again "$job"
started_twice()
{
  [ "$(count_lines started requeue.txt)" = 2 ]
}
holds "it starts again" wait_until 20 started_twice
scancel --batch -s USR1 "$job"
wait_job_end "$job" 20
has "it knows that it was requeued" restarts=1 requeue.txt

# An array and a job that waits for it.
# shellcheck disable=SC2016
array=$(sbatch --parsable --array=1-3 -N1 -n1 -o "array-%a.txt" --wrap 'echo "task=$SLURM_ARRAY_TASK_ID"')
run_job 30 --dependency="afterany:$array" -N1 -n1 -o after.txt --wrap 'cat array-*.txt'
same "a dependent job runs after the whole array" "$(values task after.txt)" "1 2 3"

began=$SECONDS
holds "the daemons stop when asked" slurm_down
holds "in time" test $((SECONDS - began)) -le 20
finish
