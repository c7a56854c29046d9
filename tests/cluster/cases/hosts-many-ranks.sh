#!/usr/bin/env bash
# 256 ranks of 100 rows over four hosts: every record arrives. About a minute on 2 cores. Fewer with Open MPI 5, which wakes
# every rank that waits in MPI_Init 10 000 times a second: 2 cores do not get 256 of them through it in five minutes.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi gpulot
hosts_up 4
each=64
if mpirun --version | grep -q "(Open MPI) 5"; then
  each=12
fi
on_hosts 300 "node1:$each,node2:$each,node3:$each,node4:$each" "$GPULOT" measure --device host --batch 1 --context 4 --width 16 \
  --dtype float32 --warmup 1 --repeats 96 --threads 1 --spool "$PWD/spool" --output "$PWD/many.h5" >run.txt 2>&1
same "status" $? 0
whole_archive "$((4 * each)) ranks" many.h5 $((4 * each))
same "$each on each host" "$(archive_field many.h5 host | tr ' ' '\n' | uniq -c | awk '{print $2 ":" $1}' | paste -sd' ')" \
  "node1:$each node2:$each node3:$each node4:$each"
same "all are well" "$(archive_outcomes many.h5 | tr ' ' '\n' | sort | uniq -c | awk '{print $2 ":" $1}')" "ok:$((4 * each))"
holds "no progress is left on disk" test ! -e spool
finish
