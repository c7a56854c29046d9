# shellcheck shell=bash
# mpirun over the pretend hosts, and the small programs of programs/. Sourced by lib/case.sh.

# The cluster runs as root and claims more CPUs than there are, so that waiting ranks must give the CPU away.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_base_warn_component_unused=0
# A host that is gone without a word is noticed after some 6 s, not after the 10 minutes that are the default.
export OMPI_MCA_oob_tcp_keepalive_time=3 OMPI_MCA_oob_tcp_keepalive_intvl=1 OMPI_MCA_oob_tcp_keepalive_probes=3
export PRTE_MCA_oob_tcp_keepalive_time=3 PRTE_MCA_oob_tcp_keepalive_intvl=1 PRTE_MCA_oob_tcp_keepalive_probes=3

# build_program NAME: compile programs/NAME.c to CLUSTER_DIR/bin/NAME, on the shared folder.
build_program()
{
  mkdir -p "$CLUSTER_DIR/bin"
  mpicc -O1 -Wall -o "$CLUSTER_DIR/bin/$1" "$CLUSTER_HOME/programs/$1.c" ||
    give_up "programs/$1.c does not compile"
}

# build_library NAME: compile programs/NAME.c to CLUSTER_DIR/bin/NAME.so, to be preloaded.
build_library()
{
  mkdir -p "$CLUSTER_DIR/bin"
  gcc -O1 -Wall -shared -fPIC -o "$CLUSTER_DIR/bin/$1.so" "$CLUSTER_HOME/programs/$1.c" ||
    give_up "programs/$1.c does not compile"
}

# on_hosts SECONDS HOST:SLOTS[,HOST:SLOTS...] COMMAND...: mpirun over these hosts without Slurm, ended after SECONDS.
# Open MPI 5 has names of its own (PRTE) for what Open MPI 4 reads.
# Without options for mpirun in COMMAND every slot gets one rank, hosts filled in order.
on_hosts()
{
  local limit=$1 hosts=$2
  shift 2
  OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent="$CLUSTER_HOME/bin/rsh-agent" \
    PRTE_MCA_plm=ssh PRTE_MCA_plm_ssh_agent="$CLUSTER_HOME/bin/rsh-agent" PRTE_MCA_hwloc_default_binding_policy=none \
    timeout -k 5 "$limit" mpirun --host "$hosts" "$@"
}

# on_hosts_5 SECONDS HOST:SLOTS[,...] COMMAND...: the same with Open MPI 5, which the tests' Python packages bring.
on_hosts_5()
{
  local limit=$1 hosts=$2
  shift 2
  LD_LIBRARY_PATH=$MPI5/lib PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    PRTE_MCA_plm=ssh PRTE_MCA_plm_ssh_agent="$CLUSTER_HOME/bin/rsh-agent" \
    timeout -k 5 "$limit" "$MPI5/bin/mpirun" --prefix "$MPI5" --host "$hosts" --map-by :oversubscribe --bind-to none \
    -x LD_LIBRARY_PATH "$@"
}
