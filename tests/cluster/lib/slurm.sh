# shellcheck shell=bash
# A real Slurm: munged and slurmctld on head, slurmd on node1, node2, ... Sourced by lib/case.sh.
#
# Nothing under /etc is read or written. All state lies in CLUSTER_DIR/slurm: etc, log, pid, state, munge, dev, spool.
# The clients (srun, sbatch, squeue, ...) find it by SLURM_CONF and are called as they are.
# Without this, srun's ranks crash now and then in MPI_Init; see slurm/measure.sbatch.
export SLURM_PMIX_FENCE=ring

# Set before slurm_up where a case needs other values:
SLURM_CPUS=${SLURM_CPUS:-8}          # CPUs that a node claims to have
SLURM_GPUS=${SLURM_GPUS:-2}          # GPUs of a node: device files with nothing behind them
SLURM_NODE_TIMEOUT=${SLURM_NODE_TIMEOUT:-10} # seconds of silence before a node counts as down
SLURM_KILL_WAIT=${SLURM_KILL_WAIT:-3}        # seconds from TERM to KILL
SLURM_MORE_CONF=${SLURM_MORE_CONF:-}         # further lines for slurm.conf

# slurm_up COUNT: nodes, daemons, and a wait until all nodes are idle.
slurm_up()
{
  local count=$1 i
  SLURM_DIR=$CLUSTER_DIR/slurm
  export SLURM_CONF=$SLURM_DIR/etc/slurm.conf
  mkdir -p "$SLURM_DIR"/{etc,log,pid,state,munge,dev}
  chmod 755 "$SLURM_DIR" "$SLURM_DIR/munge"
  hosts_up "$count"
  slurm_write_conf "$count"
  munge_up || give_up "munged did not start" "$SLURM_DIR/log/munged"
  slurmctld -f "$SLURM_CONF" || give_up "slurmctld did not start" "$SLURM_DIR/log/slurmctld"
  for ((i = 1; i <= count; i++)); do
    slurmd_up "node$i"
  done
  wait_until 20 slurm_nodes_idle "$count" || give_up "the nodes did not become idle" "$SLURM_DIR/log/slurmctld"
}

munge_up()
{
  (umask 077 && head -c 128 /dev/urandom >"$SLURM_DIR/munge/key") || return
  munged --key-file="$SLURM_DIR/munge/key" --socket="$SLURM_DIR/munge/socket" --pid-file="$SLURM_DIR/pid/munged" \
    --log-file="$SLURM_DIR/log/munged" --seed-file="$SLURM_DIR/munge/seed" --num-threads=2 \
    --origin="$CLUSTER_NET.254"
}

# slurmd_up NODE: its daemon.
slurmd_up()
{
  on "$1" slurmd -f "$SLURM_CONF" || give_up "slurmd did not start on $1" "$SLURM_DIR/log/slurmd-$1"
}

# slurm_nodes_idle COUNT: true when so many nodes are idle.
slurm_nodes_idle()
{
  [ "$(timeout 10 sinfo -h -t idle -o %D 2>/dev/null | head -n 1)" = "$1" ]
}

# slurm_write_conf COUNT: slurm.conf and gres.conf.
slurm_write_conf()
{
  local count=$1 i g
  cat >"$SLURM_CONF" <<END
ClusterName=gpulot
SlurmctldHost=head($CLUSTER_NET.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$SLURM_DIR/munge/socket
CredType=cred/munge
StateSaveLocation=$SLURM_DIR/state
SlurmdSpoolDir=$SLURM_DIR/spool-%n
TmpFS=/tmp
SlurmctldPidFile=$SLURM_DIR/pid/slurmctld
SlurmdPidFile=$SLURM_DIR/pid/slurmd-%n
SlurmctldLogFile=$SLURM_DIR/log/slurmctld
SlurmdLogFile=$SLURM_DIR/log/slurmd-%n
SlurmctldDebug=verbose
SlurmdDebug=verbose
MailProg=/bin/true
MpiDefault=none
SwitchType=switch/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$SLURM_DIR/log/jobcomp
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=2,sched_min_interval=100000
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=$SLURM_NODE_TIMEOUT
SlurmctldTimeout=10
MessageTimeout=5
KillWait=$SLURM_KILL_WAIT
CompleteWait=0
EpilogMsgTime=0
InactiveLimit=0
MinJobAge=600
GresTypes=gpu
$SLURM_MORE_CONF
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
  echo "AutoDetect=off" >"$SLURM_DIR/etc/gres.conf"
  for ((i = 1; i <= count; i++)); do
    echo "NodeName=node$i NodeAddr=$CLUSTER_NET.$i CPUs=$SLURM_CPUS Boards=1 SocketsPerBoard=1" \
      "CoresPerSocket=$SLURM_CPUS ThreadsPerCore=1 RealMemory=4000 Gres=gpu:$SLURM_GPUS State=UNKNOWN" \
      >>"$SLURM_CONF"
    # Slurm wants a character device as a GPU's file; the null device will do.
    for ((g = 0; g < SLURM_GPUS; g++)); do
      mknod -m 666 "$SLURM_DIR/dev/node$i-gpu$g" c 1 3
    done
    echo "NodeName=node$i Name=gpu File=$SLURM_DIR/dev/node$i-gpu[0-$((SLURM_GPUS - 1))]" \
      >>"$SLURM_DIR/etc/gres.conf"
  done
}

# slurm_down: stop the daemons in order. The end of the case does it too, without asking them.
slurm_down()
{
  local daemon pid
  for daemon in slurmctld munged; do
    pid=$(cat "$SLURM_DIR/pid/$daemon") || continue
    kill -TERM "$pid"
    wait_until 10 process_gone "$pid" || return
  done
}

# slurm_binds_per_task: Slurm 20.11 knows no --gpu-bind=per_task, and lets a task with --gpus-per-task see all of the node's.
slurm_binds_per_task()
{
  ! srun --version | grep -q " 20[.]"
}

# job_field JOB FIELD: one field of a job, for instance JobState, Reason, ExitCode, Restarts.
job_field()
{
  timeout 10 scontrol -o show job "$1" 2>/dev/null | tail -n 1 | grep -Eo "(^| )$2=[^ ]*" | head -n 1 | cut -d= -f2-
}

# job_is JOB STATE...: its state is one of these.
job_is()
{
  local job=$1 state wanted
  shift
  state=$(job_field "$job" JobState)
  for wanted in "$@"; do
    if [ "$state" = "$wanted" ]; then
      return 0
    fi
  done
  return 1
}

# job_ended JOB: no matter how.
job_ended()
{
  job_is "$1" COMPLETED FAILED CANCELLED TIMEOUT NODE_FAIL PREEMPTED OUT_OF_MEMORY BOOT_FAIL DEADLINE
}

# wait_job_end JOB SECONDS
wait_job_end()
{
  wait_until "$2" job_ended "$1"
}

# run_job SECONDS SBATCH-ARGUMENTS...: submits, waits for the end; the job's id to $job, its exit status to $status.
# (sbatch --wait looks only every ten seconds.)
run_job()
{
  local limit=$1
  shift
  job=$(sbatch --parsable "$@") || return
  job=${job%%;*}
  if ! wait_job_end "$job" "$limit"; then
    not_ok "job $job ends within $limit s"
  fi
  status=$(job_field "$job" ExitCode)
  status=${status%%:*}
}

# wait_for_line PATTERN FILE SECONDS: a job's output says so.
wait_for_line()
{
  wait_until "$3" grep -Eq -- "$1" "$2" 2>/dev/null
}

# start_again JOB: a requeued job waits two minutes by itself; this shortens the wait to some seconds. Not to none: a
# node takes the new attempt's credential for the revoked one of the last where it is not younger than that one's end,
# and the job fails at once. Asked again where Slurm sets the time anew, when the first attempt's last process is gone.
start_again()
{
  wait_until 60 started_again "$1"
}

# started_again JOB: true when it runs after a requeue or has run; else a job that has long to wait is told to start.
started_again()
{
  local begin
  if job_is "$1" PENDING; then
    begin=$(date -d "$(job_field "$1" EligibleTime)" +%s 2>/dev/null) || begin=
    if [ "${begin:-9999999999}" -gt $(($(date +%s) + 6)) ]; then
      timeout 10 scontrol update "jobid=$1" StartTime=now+5
    fi
    return 1
  fi
  [ "$(job_field "$1" Restarts | grep . || echo 0)" -ge 1 ] && { job_is "$1" RUNNING || job_ended "$1"; }
}
