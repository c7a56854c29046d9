#!/usr/bin/env bash
# Hosts that share no disk for the ranks' progress, and an archive that cannot be written: each host says where its part is, and
# `recover` makes one archive of the parts.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi gpulot
hosts_up 2
# The folder of the archive exists on node1 only, and a file of its name comes while the ranks measure.
on node1 mkdir /tmp/here
on_hosts 90 node1:2,node2:2 "$GPULOT" measure --device host --batch 1 --context 16 --width 64 --repeats 2 --soak 4s --memory 1% \
  --threads 1 --output /tmp/here/a.h5 >run.txt 2>&1 &
launcher=$!
wait_for_line 'gpulot: soak' run.txt 60 || give_up "the ranks did not begin to measure" run.txt
on node1 touch /tmp/here/a.h5
wait_ended "$launcher" 60
same "no archive: status 3" $? 3
has "rank 0 says where its host's part is" 'what was measured is kept.*gpulot recover /tmp/here/a.h5.spool-' run.txt
same "so does one rank of the other host" "$(count_lines 'host node2 has kept its part itself.*gpulot recover /tmp/gpulot-spool-' run.txt)" 1
cp -r "$CLUSTER_DIR"/hosts/node1/tmp/here/a.h5.spool-* one
cp -r "$CLUSTER_DIR"/hosts/node2/tmp/gpulot-spool-* two
timeout 60 "$GPULOT" recover one two --output whole.h5 >recover.txt 2>&1
same "recovered of both: status" $? 0
same "every rank's own record" "$(archive_field whole.h5 rank | tr ' ' '\n' | sort -nu | paste -sd' ')" "0 1 2 3"
same "of both hosts" "$(archive_field whole.h5 host)" "node1 node1 node2 node2"
same "all whole" "$(archive_outcomes whole.h5)" "ok ok ok ok"
finish
