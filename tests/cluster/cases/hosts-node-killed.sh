#!/usr/bin/env bash
# A host dies under Open MPI 5 with ULFM: that saves no run, since its launcher ends all when it loses a host, but what all
# ranks measured is in the archive that the named command makes.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi mpi5 gpulot
hosts_up 3
on_hosts_5 90 node1:1,node2:1,node3:2 --with-ft ulfm -np 4 "$GPULOT" measure "${measure_long[@]}" --rank-timeout 20s \
  --output "$PWD/a.h5" >run.txt 2>&1 &
launcher=$!
# The spool's name is known from the line that says how to recover.
wait_for_line 'if this run dies: [^ ]*gpulot recover [^ ]+' run.txt 60 || give_up "the ranks did not start" run.txt
recover=$(grep -Eo 'gpulot recover .*' run.txt | head -n 1)
spool=$(echo "$recover" | cut -d' ' -f3)
wait_measuring "$spool" 4 60 || give_up "the ranks did not begin to measure" run.txt
host_kill node3
began=$SECONDS
wait_ended "$launcher" 60
echo "# mpirun ended with status $? after $((SECONDS - began)) s"
holds "mpirun ends in time" test $((SECONDS - began)) -lt 60
if [ ! -e a.h5 ]; then
  PATH=$(dirname "$GPULOT"):$PATH timeout 60 sh -c "$recover" >recover.txt 2>&1
fi
whole_archive "four ranks are in the archive" a.h5 4
same "with passes of all hosts" \
  "$("$GPULOT" export a.h5 --format csv | grep warm_forward | cut -d, -f2 | sort -u | paste -sd' ')" "node1 node2 node3"
holds "the dead host's ranks are lost" test "$(archive_outcomes a.h5 | grep -o lost | wc -l)" -ge 2
for node in node1 node2; do
  holds "no rank is left on $node" wait_until 20 on $node sh -c '! pgrep -x gpulot >/dev/null'
done
finish
