#!/usr/bin/env bash
# The harness itself: two clusters side by side do not meet, and nothing is left of one, however it ends.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
check_needs hosts
# Not below /tmp, which is hidden on the hosts of a cluster.
tmp=$(mktemp -d /var/tmp/gpulot-test.XXXXXX)
export GPULOT_CLUSTER_TMP=$tmp
trap 'rm -rf "$tmp"' EXIT

cat >"$tmp/case.sh" <<'END'
. "$CLUSTER_HOME/lib/case.sh"
enter_cluster
hosts_up 2
on node1 touch /tmp/mine
sleep 987 &
on node1 sleep 987 &
echo up >"$CLUSTER_DIR/../$1.up"
wait_until 30 test -e "$CLUSTER_DIR/../$1.end"
[ "$1" != fails ] || give_up "as it should"
finish
END

# sleepers: how many processes the clusters still have, on any of their hosts.
sleepers()
{
  pgrep -fc "^sleep 987"
}

sleepers_are()
{
  [ "$(sleepers)" = "$1" ]
}

# start NAME: a cluster of its own, in the background.
start()
{
  "$CLUSTER_HOME/bin/in-cluster" bash "$tmp/case.sh" "$1" >"$tmp/$1.txt" 2>&1 </dev/null &
}

start first
first=$!
start second
second=$!
holds "the first cluster is up" wait_until 20 test -e "$tmp/first.up"
holds "and a second one beside it" wait_until 20 test -e "$tmp/second.up"
holds "with two processes each" wait_until 5 sleepers_are 4
touch "$tmp/first.end"
wait "$first"
same "the first ended" "$(sleepers)" 2
kill -TERM "$second"
wait "$second"
same "the second was told to end" "$(sleepers)" 0

start fails
third=$!
wait_until 20 test -e "$tmp/fails.up"
touch "$tmp/fails.end"
wait "$third"
same "a failing case says so" $? 1
same "and leaves no process" "$(sleepers)" 0
same "no folder is left of any of them" "$(find "$tmp" -maxdepth 1 -name 'gpulot-cluster.*')" ""

start killed
fourth=$!
wait_until 20 test -e "$tmp/killed.up"
kill -KILL "$fourth"
wait "$fourth" 2>/dev/null
holds "a killed case leaves no process" wait_until 10 sleepers_are 0
finish
