# shellcheck shell=bash
# What a case needs from the machine, and the reason given where it is not there. Sourced by lib/case.sh.

# check_needs NEED...: skips with one line at the first need that is not met.
#   hosts    namespaces and network devices may be made
#   mpi      an MPI compiler and launcher
#   slurm    Slurm, munge and the PMIx plugin
#   mpi5     Open MPI 5, in $MPI5
#   gpulot   the program under test is built
#   simulator  so are the CUDA module and the simulator for tests, in $SIMULATOR
check_needs()
{
  local need
  for need in "$@"; do
    "need_$need"
  done
}

# need_commands PACKAGE COMMAND...: all of them must be found.
need_commands()
{
  local package=$1 command
  shift
  for command in "$@"; do
    if ! command -v "$command" >/dev/null; then
      skip "$command is not installed (Debian package $package)"
    fi
  done
}

need_hosts()
{
  PATH=$PATH:/usr/sbin:/sbin
  export PATH
  if [ "$EUID" != 0 ]; then
    skip "pretend hosts need root"
  fi
  need_commands util-linux unshare nsenter setpriv mount
  need_commands iproute2 ip
  need_commands procps ps
  need_commands coreutils timeout mktemp mknod
  if ! unshare --net --uts --ipc --mount --propagation private --pid --fork --mount-proc \
    sh -c 'hostname probe && ip link add probe0 type veth peer name probe1 && ip link add br0 type bridge' \
    >/dev/null 2>&1; then
    skip "namespaces, veth or bridge devices are not permitted here"
  fi
}

need_mpi()
{
  need_commands openmpi-bin mpirun
  need_commands libopenmpi-dev mpicc
}

need_mpi5()
{
  MPI5=$REPO_ROOT/.venv
  export MPI5
  if [ ! -x "$MPI5/bin/mpirun" ]; then
    skip "Open MPI 5 is not in .venv: ./run.sh test puts it there"
  fi
}

need_slurm()
{
  local probe
  need_commands munge munged
  need_commands slurm-wlm slurmctld slurmd srun sbatch scontrol squeue scancel sinfo
  probe=$(mktemp -d)
  printf 'ClusterName=probe\nSlurmctldHost=probe\n' >"$probe/slurm.conf"
  if ! SLURM_CONF=$probe/slurm.conf srun --mpi=list 2>&1 | grep -q pmix; then
    rm -rf "$probe"
    skip "Slurm's PMIx plugin is missing (Debian packages slurm-wlm-basic-plugins and libpmix2)"
  fi
  if ! { mknod "$probe/null" c 1 3 && : >"$probe/null"; } 2>/dev/null; then
    rm -rf "$probe"
    skip "device files may not be made here (mknod)"
  fi
  rm -rf "$probe"
}

need_gpulot()
{
  if [ ! -x "$GPULOT" ]; then
    skip "the program is not built (looked for $GPULOT)"
  fi
}

need_simulator()
{
  SIMULATOR=$(dirname "$GPULOT")/tests-only/cudasim
  export SIMULATOR
  if [ ! -e "$(dirname "$GPULOT")/lib/gpulot/gpulot-cuda.so" ] || [ ! -d "$SIMULATOR" ]; then
    skip "the CUDA module or its simulator is not built"
  fi
}
