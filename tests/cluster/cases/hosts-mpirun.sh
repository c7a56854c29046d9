#!/usr/bin/env bash
# mpirun over three hosts without Slurm: ranks really are on different hosts, and every rank's record arrives.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi gpulot
hosts_up 3
on_hosts 60 node1:2,node2:2,node3:2 "$GPULOT" measure "${measure_short[@]}" --output "$PWD/hosts.h5" >run.txt 2>&1
same "status" $? 0
whole_archive "six ranks" hosts.h5 6
same "on three hosts" "$(archive_field hosts.h5 host)" "node1 node1 node2 node2 node3 node3"
same "two places on each" "$(archive_field hosts.h5 local_rank)" "0 0 0 1 1 1"
same "every rank's own record" "$(archive_field hosts.h5 rank | tr ' ' '\n' | sort -nu | paste -sd' ')" "0 1 2 3 4 5"

# Hosts may be uneven, and may not share a folder for the ranks' progress.
on_hosts 60 node1:1,node2:3,node3:1 "$GPULOT" measure "${measure_short[@]}" --spool /tmp/spool --output "$PWD/uneven.h5" \
  >uneven.txt 2>&1
same "uneven hosts and a spool on each: status" $? 0
same "uneven hosts" "$(archive_field uneven.h5 host)" "node1 node2 node2 node2 node3"

# Ranks that were not started alike.
# shellcheck disable=SC2016 # the rank's shell is the one to put the values in
on_hosts 60 node1:1,node2:1 sh -c '"$0" measure "$@" --seed "$OMPI_COMM_WORLD_RANK"' "$GPULOT" "${measure_short[@]}" \
  --output "$PWD/differ.h5" >differ.txt 2>&1
holds "ranks with different arguments are refused" test $? -ne 0
has "which is said" "rank 1 was started with other options than rank 0" differ.txt
holds "and nothing is written" test ! -e differ.h5
finish
