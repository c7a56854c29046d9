#!/bin/sh
# case.sh STATUS MATCH NOT PROGRAM CASE: runs one case and compares how it ended and what it printed. MATCH and NOT
# are extended regular expressions; an empty one asks for nothing.
want=$1 match=$2 not=$3
shift 3
output=$("$@" 2>&1)
status=$?
printf '%s\n' "$output"
[ "$status" -eq "$want" ] || { echo "ended with $status instead of $want"; exit 1; }
[ -z "$match" ] || printf '%s\n' "$output" | grep -Eq -- "$match" || { echo "does not print $match"; exit 1; }
[ -z "$not" ] || ! printf '%s\n' "$output" | grep -Eq -- "$not" || { echo "prints $not"; exit 1; }
