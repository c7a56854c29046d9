#!/usr/bin/env bash
# stop_when.sh FILE PATTERN COMMAND...: runs the command until FILE has a line with the pattern, 120 s at most, then sends
# it SIGTERM. Its exit status is the command's.
set -euo pipefail
file=$1 pattern=$2
shift 2
rm -f "$file"
"$@" &
pid=$!
for ((tenths = 0; tenths < 1200; tenths++)); do
  if grep -q -- "$pattern" "$file" 2>/dev/null; then break; fi
  sleep 0.1
done
kill "$pid"
wait "$pid"
