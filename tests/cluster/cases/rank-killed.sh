#!/usr/bin/env bash
# kill -9 of one rank of four, in every phase, while verifying and while gathering, rank 0 too: what all four measured
# is in an archive within 10 s, by itself or by the one recover command.
# shellcheck source=../lib/case.sh
. "$(dirname "$0")/../lib/case.sh"
enter_cluster mpi gpulot

# Sizes that make one phase long enough to be met. Used by name.
# shellcheck disable=SC2034
{
  slow_load=(--context 1 --width 2048 --warmup 1 --repeats 1)
  slow_cold=(--context 2048 --width 1024 --warmup 1 --repeats 1)
  slow_warmup=(--context 16 --width 64 --warmup 100000 --repeats 1)
  slow_warm=(--context 64 --width 256 --warmup 1 --repeats 100000)
  slow_verify=(--context 1 --width 1536 --warmup 1 --repeats 1)
  slow_gather=("${slow_verify[@]}")
}

# reached PHASE FILE: the rank is in that phase, as its finished rows tell.
reached()
{
  case $1 in
  load) [ -s "$2" ] && ! has_row "$2" model_load ;;
  cold) has_row "$2" inputs && ! has_row "$2" cold_forward ;;
  warmup) has_row "$2" cold_forward && ! has_row "$2" warmup ;;
  warm | verify) has_row "$2" warm_forward ;;
  gather) grep -q '^{"record"' "$2" 2>/dev/null ;;
  esac
}

# kill_in PHASE VICTIM MPIRUN-OPTIONS...
kill_in()
{
  local phase=$1 victim=$2 name="$1, rank $2 killed" outcome=lost launcher i began status
  local -n size=slow_$1
  shift 2
  rm -rf a.h5 spool
  timeout -k 5 60 mpirun --oversubscribe -n 4 "$@" "$GPULOT" measure --device host --batch 1 --dtype float32 --threads 1 \
    "${size[@]}" --spool "$PWD/spool" --output "$PWD/a.h5" >run.txt 2>&1 &
  launcher=$!
  if [ "$phase" = gather ]; then
    # Rank 3 keeps the gathering open.
    wait_until 30 reached verify spool/rank-3.jsonl && kill -STOP "$(rank_pid 3)"
    outcome=ok # the victim's record is on disk, whole
  fi
  for ((i = 0; i < 1000; i++)); do
    if reached "$phase" "spool/rank-$victim.jsonl"; then
      break
    fi
    sleep 0.02
  done
  if ! kill -KILL "$(rank_pid "$victim")"; then
    not_ok "$name: there was no such rank" run.txt
  fi
  began=$SECONDS
  wait_ended "$launcher" 12
  status=$?
  holds "$name: mpirun ends with a failure" test "$status" != 0
  if [ ! -e a.h5 ]; then
    timeout 20 "$GPULOT" recover "$PWD/spool" --output "$PWD/a.h5" >recover.txt 2>&1
    echo "# $name: recovered by hand, status $?"
  fi
  echo "# $name: over after $((SECONDS - began)) s"
  holds "$name: an archive in time" test -e a.h5 -a $((SECONDS - began)) -le 20
  whole_archive "$name: all four ranks are in it" a.h5 4
  same "$name: the killed one is $outcome" "$(archive_outcomes a.h5 "$victim")" "$outcome"
  holds "$name: no rank is left" wait_until 5 no_ranks
}

no_ranks()
{
  ! pgrep -x gpulot >/dev/null
}

for phase in load cold warmup warm verify gather; do
  kill_in $phase 1
done
kill_in load 0
kill_in warm 0
kill_in gather 0
finish
