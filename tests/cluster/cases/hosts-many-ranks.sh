#!/usr/bin/env bash
# 256 ranks of 100 rows over four hosts: every record arrives. About a minute on 2 cores.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi gpulot
hosts_up 4
on_hosts 300 node1:64,node2:64,node3:64,node4:64 "$GPULOT" measure --device host --batch 1 --context 4 --width 16 \
  --dtype float32 --warmup 1 --repeats 96 --threads 1 --spool "$PWD/spool" --output "$PWD/many.h5" >run.txt 2>&1
same "status" $? 0
whole_archive "256 ranks" many.h5 256
same "64 on each host" "$(archive_field many.h5 host | tr ' ' '\n' | uniq -c | awk '{print $2 ":" $1}' | paste -sd' ')" \
  "node1:64 node2:64 node3:64 node4:64"
same "all are well" "$(archive_outcomes many.h5 | tr ' ' '\n' | sort | uniq -c | awk '{print $2 ":" $1}')" "ok:256"
holds "no progress is left on disk" test ! -e spool
finish
