# shellcheck shell=bash
# What a case says: "ok" and "not ok" lines, a skip with its reason, one exit status. Sourced by lib/case.sh.

case_good=0
case_bad=0

# ok WHAT: one fact was as it must be.
ok()
{
  case_good=$((case_good + 1))
  echo "ok - $1"
}

# not_ok WHAT [FILE]: one fact was not; FILE's last lines are shown below it.
not_ok()
{
  case_bad=$((case_bad + 1))
  echo "not ok - $1"
  if [ -n "${2:-}" ]; then
    show_tail "$2"
  fi
}

# show_tail FILE: the last lines of a file, marked as a remark.
show_tail()
{
  if [ -r "$1" ]; then
    echo "# last lines of ${1##*/}:"
    tail -n "${CLUSTER_TAIL:-25}" "$1" | sed 's/^/#   /'
  else
    echo "# there is no file ${1##*/}"
  fi
}

# same WHAT GOT WANTED: two texts must be equal.
same()
{
  if [ "$2" = "$3" ]; then
    ok "$1"
  else
    not_ok "$1"
    printf '#   got:    %s\n#   wanted: %s\n' "$2" "$3"
  fi
}

# holds WHAT COMMAND...: the command must end with status 0.
holds()
{
  local what=$1
  shift
  if "$@"; then
    ok "$what"
  else
    not_ok "$what"
  fi
}

# has WHAT PATTERN FILE: a line of FILE must match the extended regular expression PATTERN.
has()
{
  if grep -Eq -- "$2" "$3" 2>/dev/null; then
    ok "$1"
  else
    not_ok "$1 (no line matches /$2/)" "$3"
  fi
}

# lacks WHAT PATTERN FILE: no line of FILE may match PATTERN.
lacks()
{
  if grep -Eq -- "$2" "$3" 2>/dev/null; then
    not_ok "$1 (a line matches /$2/)" "$3"
  else
    ok "$1"
  fi
}

# skip REASON: this machine cannot run the case. Where skipping is not allowed, that is a failure.
skip()
{
  if [ "${CI:-}" = true ] || [ "${GPULOT_TEST_NO_SKIP:-}" = 1 ]; then
    echo "not ok - skipped where no case may skip: $1"
    exit 1
  fi
  echo "skip: $1"
  exit 77
}

# give_up WHY [FILE]: nothing further can be tested.
give_up()
{
  not_ok "$@"
  finish
}

# finish: the last line of every case. A case that checked nothing has failed.
finish()
{
  echo "# ${0##*/}: $case_good ok, $case_bad not ok, ${SECONDS} s"
  if [ "$case_bad" -gt 0 ] || [ "$case_good" -eq 0 ]; then
    exit 1
  fi
  exit 0
}

# wait_until SECONDS COMMAND...: try the command until it ends with 0; status 1 when the time is up.
wait_until()
{
  local limit=$((SECONDS + $1))
  shift
  until "$@"; do
    if [ "$SECONDS" -ge "$limit" ]; then
      return 1
    fi
    sleep 0.2
  done
}

# count_lines PATTERN FILE: how many lines match.
count_lines()
{
  grep -Ec -- "$1" "$2" 2>/dev/null || true
}

# values NAME FILE: the values of NAME=... in FILE, sorted, on one line.
values()
{
  grep -Eo -- "(^| )$1=[^ ]*" "$2" | sed 's/.*=//' | sort | paste -sd' '
}
