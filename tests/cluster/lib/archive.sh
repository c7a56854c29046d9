# shellcheck shell=bash
# Looking into archives, through the program's own export. Sourced by lib/case.sh.

# archive_field FILE NAME: the values of the records' field NAME, sorted, on one line. Text and numbers.
archive_field()
{
  "$GPULOT" export "$1" --format json 2>/dev/null | grep -Eo "\"$2\": *(\"[^\"]*\"|[^,}\"]*)" |
    sed 's/^[^:]*: *//; s/"//g; s/ *$//' | sort -V | paste -sd' '
}

# archive_rows FILE PHASE: how many rows of that phase all ranks have.
archive_rows()
{
  "$GPULOT" export "$1" --format csv 2>/dev/null | grep -Ec "(^|,)\"?$2\"?(,|$)"
}

# whole_archive WHAT FILE RANKS: it is there, opens, and has so many ranks.
whole_archive()
{
  if [ ! -e "$2" ]; then
    not_ok "$1 (there is no ${2##*/})"
  else
    same "$1" "$(archive_field "$2" rank | tr ' ' '\n' | sort -nu | wc -l)" "$3"
  fi
}

# archive_outcomes FILE [RANK]: how each rank ended, in rank order, on one line: ok, lost, interrupted, ...
archive_outcomes()
{
  "$GPULOT" export "$1" --format json ${2:+--rank "$2"} 2>/dev/null | grep -Eo '"outcome": *\{"status": *"[^"]*"' |
    sed 's/.*: *"//; s/"$//' | paste -sd' '
}
