#!/usr/bin/env bash
# slurm/healthcheck by hand and as Slurm's HealthCheckProgram, Prolog and Epilog: passing, failing, draining, and
# keeping out of a job's way.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster slurm gpulot
check=$REPO_ROOT/slurm/healthcheck
small=(--batch 1 --context 4 --width 16 --dtype float32 --warmup 1 --repeats 2)
bad=cuda:99 # no machine has it

# One script for all three places in slurm.conf; the files of the working folder say what a node shall do.
cat >"$CLUSTER_DIR/hook" <<END
#!/bin/sh
export GPULOT=$GPULOT SLURM_CONF=$CLUSTER_DIR/slurm/etc/slurm.conf
cd "$CLUSTER_DIR/work" || exit 0
[ -e "\$SLURMD_NODENAME.\${SLURM_SCRIPT_CONTEXT:-health}.args" ] || exit 0
$check --device \$(cat "\$SLURMD_NODENAME.\${SLURM_SCRIPT_CONTEXT:-health}.args") -- ${small[*]} \
  >>"\$SLURMD_NODENAME.\${SLURM_SCRIPT_CONTEXT:-health}.txt" 2>&1
END
chmod +x "$CLUSTER_DIR/hook"
export SLURM_MORE_CONF="HealthCheckProgram=$CLUSTER_DIR/hook
HealthCheckInterval=2
HealthCheckNodeState=ANY
PrologFlags=Alloc
Prolog=$CLUSTER_DIR/hook
Epilog=$CLUSTER_DIR/hook"
slurm_up 3

# by_hand NODE OPTIONS...: one check, of a small network unless OPTIONS say; the line goes to out.txt, the status to
# $status.
by_hand()
{
  local node=$1
  shift
  case " $* " in
  *" -- "*) ;;
  *) set -- "$@" -- "${small[@]}" ;;
  esac
  on "$node" timeout 60 "$check" "$@" >out.txt 2>&1
  status=$?
}
node_is()
{
  timeout 10 sinfo -h -n "$1" -o '%T %E' | grep -Eq -- "$2"
}

by_hand node1 --device host
same "a good device: status 0" "$status" 0
has "and one line that says so" '^GPULOT OK - node1: 1 of 1 devices measured' out.txt
same "and nothing else" "$(wc -l <out.txt)" 1
by_hand node1 --device "$bad"
same "a bad device: status 2" "$status" 2
has "with the reason" "^GPULOT CRITICAL - node1: $bad: .*" out.txt
holds "nothing was drained" node_is node1 '^idle'
by_hand node1 --device host --gpus 2
same "too few devices: status 2" "$status" 2
by_hand node1 --device host --budget 90
same "a budget over Slurm's own limit: status 3" "$status" 3
GPULOT=/nowhere/gpulot by_hand node1 --device host
same "no program: status 3" "$status" 3
by_hand node1 --device host --budget 2 -- --batch 1 --context 4096 --width 4096 --dtype float32 --repeats 1000
same "over the budget: status 2" "$status" 2
has "and says so" 'not done within the budget of 2 s' out.txt

# As HealthCheckProgram.
echo host >node1.health.args
wait_for_line '^GPULOT OK - node1' node1.health.txt 40
has "Slurm runs it" '^GPULOT OK - node1' node1.health.txt
echo "$bad --drain" >node2.health.args
holds "Slurm runs it on a bad node" wait_for_line '^GPULOT CRITICAL - node2.*; drained ' node2.health.txt 40
holds "which is drained, with the reason" node_is node2 "^drain.* gpulot: $bad: "
rm node1.health.args node2.health.args

# A job is running: hands off.
job=$(sbatch --parsable -N1 -w node1 --wrap 'sleep 30')
wait_until 20 job_is "$job" RUNNING
job_has_started()
{
  on node1 scontrol listpids >/dev/null 2>&1
}
wait_until 10 job_has_started
by_hand node1 --device "$bad" --drain
same "beside a job: status 3" "$status" 3
has "and the reason" "busy: job $job is running here" out.txt
holds "nothing was drained beside a job" node_is node1 '^(mixed|allocated)'
scancel "$job"
wait_job_end "$job" 20

# As Prolog and Epilog.
echo host >node1.prolog_slurmd.args
echo "$bad" >node1.epilog_slurmd.args
run_job 30 -N1 -w node1 --gres=gpu:1 -o job.txt --wrap 'echo ran'
has "a good prolog lets the job run" ran job.txt
has "it measured" '^GPULOT OK' node1.prolog_slurmd.txt
holds "a bad epilog says so" wait_for_line '^GPULOT CRITICAL' node1.epilog_slurmd.txt 20
holds "and drains nothing by itself" wait_until 10 node_is node1 '^idle'
rm node1.prolog_slurmd.args node1.epilog_slurmd.args
echo "$bad --drain" >node3.prolog_slurmd.args
job=$(sbatch --parsable -N1 -w node3 --gres=gpu:1 -o never.txt --wrap 'echo ran')
holds "a bad prolog with --drain drains" wait_until 20 node_is node3 '^drain.* gpulot: '
holds "and the job did not run there" test ! -s never.txt
scancel "$job"
finish
