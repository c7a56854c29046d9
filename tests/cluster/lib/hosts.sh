# shellcheck shell=bash
# Pretend hosts: "head", where the case runs, and node1, node2, ... on a private network. Sourced by lib/case.sh.
#
# A node is one holder process (bin/host-init) with its own PID, network, UTS, IPC and mount namespace: its own host
# name, processes, /tmp and /dev/shm. Killing the holder takes everything on that node along, as pulling its plug does.
# CLUSTER_DIR, the repository and the build folder are visible everywhere: they play the shared file system.
#
#   CLUSTER_DIR/hosts/NAME/pid     the holder's process id, as head sees it
#   CLUSTER_DIR/hosts/NAME/tmp     the node's own /tmp
#   CLUSTER_DIR/work               the case's working folder, on all hosts

CLUSTER_NET=10.77.0
CLUSTER_MAX_NODES=16

# head_up: make this namespace the host "head": its name, network bridge, /tmp and /dev/shm.
head_up()
{
  local i
  mkdir -p "$CLUSTER_DIR/hosts/head/tmp" "$CLUSTER_DIR/work" || return
  {
    echo "127.0.0.1 localhost"
    echo "$CLUSTER_NET.254 head"
    for ((i = 1; i <= CLUSTER_MAX_NODES; i++)); do
      echo "$CLUSTER_NET.$i node$i"
    done
  } >"$CLUSTER_DIR/hosts/etc-hosts"
  "$CLUSTER_HOME/bin/host-init" prepare head || return
  ip link add br0 type bridge && ip addr add "$CLUSTER_NET.254/24" dev br0 && ip link set br0 up
}

# node_number NAME: node3 -> 3.
node_number()
{
  echo "${1#node}"
}

# host_up NAME: start one node (also to bring a killed one back) and join it to the network.
host_up()
{
  local name=$1 number unshare holder
  number=$(node_number "$name")
  rm -rf --one-file-system "${CLUSTER_DIR:?}/hosts/$name"
  mkdir -p "$CLUSTER_DIR/hosts/$name/tmp"
  setsid unshare --net --uts --ipc --mount --propagation private --pid --fork --kill-child --mount-proc \
    "$CLUSTER_HOME/bin/host-init" hold "$name" </dev/null >"$CLUSTER_DIR/hosts/$name/log" 2>&1 &
  unshare=$!
  wait_until 10 test -e "$CLUSTER_DIR/hosts/$name/ready" || return
  holder=$(cat "/proc/$unshare/task/$unshare/children") || return
  holder=${holder%% *}
  echo "$holder" >"$CLUSTER_DIR/hosts/$name/pid"
  ip link delete "port$number" 2>/dev/null
  ip link add "port$number" type veth peer name eth0 netns "$holder" || return
  ip link set "port$number" master br0 up || return
  nsenter -t "$holder" -n sh -c "ip addr add $CLUSTER_NET.$number/24 dev eth0 && ip link set eth0 up"
}

# hosts_up COUNT: node1 to nodeCOUNT.
hosts_up()
{
  local i
  for ((i = 1; i <= $1; i++)); do
    host_up "node$i" || give_up "node$i could not be started" "$CLUSTER_DIR/hosts/node$i/log"
  done
}

# host_kill NAME: pull the node's plug. Returns when all its processes are gone.
host_kill()
{
  local holder
  holder=$(cat "$CLUSTER_DIR/hosts/$1/pid") || return
  rm -f "$CLUSTER_DIR/hosts/$1/pid"
  kill -KILL "$holder"
  wait_until 10 process_gone "$holder"
}

# process_gone PID: ended, or waiting only to be collected.
process_gone()
{
  ! grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status" 2>/dev/null
}

# host_link NAME up|down: plug a node's network cable in or out.
host_link()
{
  ip link set "port$(node_number "$1")" "$2"
}

# on HOST COMMAND...: run a command there, in the same folder and environment.
on()
{
  "$CLUSTER_HOME/bin/on" "$@"
}
