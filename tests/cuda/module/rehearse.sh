#!/usr/bin/env bash
# rehearse.sh EXIT PATTERNS COMMAND...: runs the command and shows what it says; fails where it ends otherwise or where one
# of the patterns, which a bar separates, is in no line of its output.
set -euo pipefail
wanted=$1 patterns=$2
shift 2
status=0
said=$("$@" 2>&1) || status=$?
printf '%s\n' "$said"
if [ "$status" -eq 77 ]; then exit 77; fi
if [ "$status" -ne "$wanted" ]; then
    echo "rehearse: exit $status instead of $wanted"
    exit 1
fi
IFS='|' read -r -a each <<< "$patterns"
for pattern in "${each[@]}"; do
    if ! grep -Eq -- "$pattern" <<< "$said"; then
        echo "rehearse: no line with $pattern"
        exit 1
    fi
done
