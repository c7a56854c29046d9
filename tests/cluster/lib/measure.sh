# shellcheck shell=bash
# Measurements that the cases start: short ones, long ones, and how far a running one has come. Sourced by lib/case.sh.

# A moment, and six phase rows a rank: model_load, inputs, cold_forward, warmup and two of warm_forward.
# shellcheck disable=SC2034
measure_short=(--device host --batch 1 --context 4 --width 16 --dtype float32 --warmup 1 --repeats 2)

# Minutes: a case ends it in some way.
# shellcheck disable=SC2034
measure_long=(--device host --batch 1 --context 64 --width 256 --dtype float32 --warmup 1 --repeats 100000
  --threads 1)

# ranks_measuring SPOOL: how many ranks have at least one warm_forward row on disk.
ranks_measuring()
{
  grep -l warm_forward "$1"/* 2>/dev/null | wc -l
}

all_measuring()
{
  [ "$(ranks_measuring "$1")" -ge "$2" ]
}

# wait_measuring SPOOL RANKS SECONDS: until all of them repeat passes.
wait_measuring()
{
  wait_until "$3" all_measuring "$1" "$2"
}

# wait_ended PID SECONDS: until a child has ended; its status. 124 where it did not, and it is then killed.
wait_ended()
{
  if ! wait_until "$2" process_gone "$1"; then
    kill -KILL "$1"
    wait "$1" 2>/dev/null
    return 124
  fi
  wait "$1"
}

# rank_pid RANK: the process id of that rank of a gpulot that mpirun or srun started on this host.
rank_pid()
{
  local pid
  for pid in $(pgrep -x gpulot); do
    if tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qxE "(OMPI_COMM_WORLD_RANK|PMIX_RANK)=$1"; then
      echo "$pid"
      return
    fi
  done
  return 1
}

# has_row FILE PHASE: the rank whose progress is FILE has finished such a row.
has_row()
{
  grep -q "\"phase\": \?\"$2\"" "$1" 2>/dev/null
}
