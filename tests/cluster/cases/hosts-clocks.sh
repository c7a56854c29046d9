#!/usr/bin/env bash
# Hosts whose clocks are apart: each record has its own host's time, and nothing that is measured or waited for hangs on it.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi gpulot
hosts_up 3
build_library clock_shift
on_hosts 60 node1:1,node2:1,node3:1 -x "LD_PRELOAD=$CLUSTER_DIR/bin/clock_shift.so" -x "CLOCK_SHIFT=node2=400 node3=-400" \
  "$GPULOT" measure "${measure_short[@]}" --rank-timeout 60s --output "$PWD/clocks.h5" >run.txt 2>&1
same "status" $? 0
whole_archive "three ranks" clocks.h5 3
same "all are well" "$(archive_outcomes clocks.h5)" "ok ok ok"

# seconds_of RANK: when that rank began, by its host's clock, since 1970.
seconds_of()
{
  date -d "$("$GPULOT" export clocks.h5 --format json --rank "$1" | grep -Eo '"started_utc": *"[^"]*"' | cut -d'"' -f4)" +%s
}

# apart_by RANK SECONDS: that rank's clock is so far before rank 0's, to within the time that starting takes.
apart_by()
{
  local seen=$(($(seconds_of "$1") - $(seconds_of 0) - $2))
  [ "$seen" -ge -100 ] && [ "$seen" -le 100 ]
}

holds "node2 is recorded 400 s ahead" apart_by 1 400
holds "node3 is recorded 400 s behind" apart_by 2 -400
holds "no rank's own time is shifted" test -z "$(archive_field clocks.h5 elapsed_seconds | tr ' ' '\n' | grep -E '^-|^[0-9]{3}')"
timeout 20 "$GPULOT" check --json clocks.h5 >check.json 2>&1
has "check judges the three" '"(judged|devices|ranks)"' check.json
lacks "and calls no host misconfigured for its clock" misconfigured check.json
finish
