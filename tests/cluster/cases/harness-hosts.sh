#!/usr/bin/env bash
# The harness itself, without Slurm: hosts are apart, mpirun reaches them, a killed host is noticed and can come back.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi
hosts_up 3
build_program where

# Hosts are apart.
same "each host has its own name" "$(on node1 hostname) $(on node2 hostname) $(hostname)" "node1 node2 head"
on node1 touch /tmp/mine
holds "a file in one node's /tmp is not in another's" on node2 test ! -e /tmp/mine
on node1 touch /dev/shm/mine
holds "nor is one in /dev/shm" on node2 test ! -e /dev/shm/mine
on node1 touch here
holds "the working folder is shared" on node2 test -e here
on node1 sleep 51 &
# seen HOST: how many of node1's sleepers that host sees.
seen()
{
  on "$1" pgrep -fc "^sleep 51"
}
seen_on_node1()
{
  [ "$(seen node1)" = 1 ]
}
holds "a node sees its own processes" wait_until 10 seen_on_node1
same "and no other's" "$(seen node2)" 0
same "no route leads out" "$(ip route show default; on node1 ip route show default)" ""

# mpirun over them.
on_hosts 60 node1:2,node2:2,node3:2 "$CLUSTER_DIR/bin/where" >where.txt 2>where.err
same "mpirun over three hosts ends well" $? 0
same "two ranks on each of three hosts" "$(values host where.txt)" "node1 node1 node2 node2 node3 node3"
same "two ranks share memory on each" "$(values locals where.txt)" "2 2 2 2 2 2"
same "every message arrived" "$(count_lines ring=ok where.txt)" 6

# mpirun notices a lost host, whether its plug or its cable was pulled, and does not wait for ever.
sleeping_on_node2()
{
  on node2 pgrep -f "^sleep 50" >/dev/null
}
for fault in cable plug; do
  on_hosts 60 node1:1,node2:1 sleep 50 >sleep.txt 2>&1 &
  launcher=$!
  wait_until 10 sleeping_on_node2
  sleep 0.5
  began=$SECONDS
  case $fault in
  cable) host_link node2 down ;;
  plug) host_kill node2 ;;
  esac
  wait "$launcher"
  # Open MPI 5 says that it lost a daemon, and ends with 0.
  holds "$fault pulled: mpirun fails or says so" test $? -ne 0 -o -s sleep.txt
  holds "$fault pulled: within 20 s" test $((SECONDS - began)) -le 20
  if [ $fault = cable ]; then
    host_link node2 up
    on node2 pkill -f "^sleep 50"
  fi
done
same "a dead host answers nothing" "$(on node2 true 2>&1)" "on: node2 is down"
holds "it comes back" host_up node2
same "as a fresh one" "$(on node2 hostname)" node2

finish
