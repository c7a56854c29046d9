# shellcheck shell=bash
# The one file that a case sources. It brings the other libraries and puts the case on the head of its own cluster.
#
#   . "$(dirname "$0")/../lib/case.sh"
#   enter_cluster slurm          # from here on the case runs on the host "head"
#   slurm_up 3
#   ...
#   finish

set -u
CLUSTER_HOME=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
REPO_ROOT=$(cd "$CLUSTER_HOME/../.." && pwd)
GPULOT=${GPULOT:-$REPO_ROOT/build/gpulot}
export CLUSTER_HOME REPO_ROOT GPULOT

# shellcheck source=../lib/report.sh
. "$CLUSTER_HOME/lib/report.sh"
# shellcheck source=../lib/needs.sh
. "$CLUSTER_HOME/lib/needs.sh"
# shellcheck source=../lib/hosts.sh
. "$CLUSTER_HOME/lib/hosts.sh"
# shellcheck source=../lib/slurm.sh
. "$CLUSTER_HOME/lib/slurm.sh"
# shellcheck source=../lib/archive.sh
. "$CLUSTER_HOME/lib/archive.sh"
# shellcheck source=../lib/measure.sh
. "$CLUSTER_HOME/lib/measure.sh"
# shellcheck source=../lib/mpi.sh
. "$CLUSTER_HOME/lib/mpi.sh"

# enter_cluster NEED...: skip where a need is not met (see lib/needs.sh), else run this case again from its first
# line inside its own namespaces, where CLUSTER_DIR is set and this function only prepares the head.
enter_cluster()
{
  if [ -n "${CLUSTER_DIR:-}" ]; then
    head_up || give_up "the head of the cluster could not be set up"
    cd "$CLUSTER_DIR/work" || exit 1
    return
  fi
  check_needs hosts "$@"
  exec "$CLUSTER_HOME/bin/in-cluster" bash "$0"
}
