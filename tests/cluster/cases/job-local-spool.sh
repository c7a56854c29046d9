#!/usr/bin/env bash
# Nodes that keep their ranks' progress on their own disks: collected when a rank dies, and, from the nodes that are left,
# when a node dies.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi slurm gpulot
export SLURM_NODE_TIMEOUT=5 GPULOT_LOCAL_SPOOL=/tmp
slurm_up 2

# spools_measuring JOB RANKS: so many ranks repeat passes, as their nodes' own disks tell.
spools_measuring()
{
  [ "$(cat "$CLUSTER_DIR"/hosts/node*/tmp/"gpulot-$1.h5.spool"/*.jsonl 2>/dev/null |
    grep warm_forward | grep -Eo '"rank": ?[0-9]+' | sort -u | wc -l)" -ge "$2" ]
}

# start NAME OPTIONS...: a long measurement of four ranks on two nodes; sets $job and $archive.
start()
{
  local name=$1
  shift
  job=$(sbatch --parsable --no-requeue -N2 --ntasks-per-node=2 -o "$name.log" "$@" "$REPO_ROOT/slurm/measure.sbatch" \
    "${measure_long[@]}")
  archive=gpulot-$job.h5
  wait_until 60 spools_measuring "$job" 4 || give_up "$name: the ranks did not begin to measure" "$name.log"
}

# measured_on FILE: the hosts with measured passes.
measured_on()
{
  "$GPULOT" export "$1" --format csv | grep warm_forward | cut -d, -f2 | sort -u | paste -sd' '
}

start rank
holds "nothing is on the shared disk" test ! -e "$archive.spool"
same "but which nodes have it, for a later attempt" "$(cat "$archive.nodes")" "node[1-2]"
on node2 pkill -KILL -n -x gpulot
holds "a rank dies: the job ends" wait_job_end "$job" 60
whole_archive "a rank dies: four ranks are in the archive" "$archive" 4
same "a rank dies: passes of both nodes" "$(measured_on "$archive")" "node1 node2"
holds "a rank dies: it is lost" test "$(archive_outcomes "$archive" | grep -o lost | wc -l)" -ge 1

# mpirun ends all ranks; the script outlives the node.
GPULOT_LAUNCHER=mpirun start node --no-kill
host_kill node2
holds "a node dies: the job ends" wait_job_end "$job" 90
has "a node dies: the log says whose progress is missing" "nothing from node2" node.log
whole_archive "a node dies: four ranks are in the archive" "$archive" 4
same "a node dies: passes of the other node" "$(measured_on "$archive")" node1
holds "nothing is left of how they were found" test ! -e "$archive.nodes"
holds "a node dies: its ranks are lost" test "$(archive_outcomes "$archive" | grep -o lost | wc -l)" -ge 2
finish
