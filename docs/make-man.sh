#!/bin/sh
# The man page: docs/gpulot.1.in with every command's --help in it. Prints to standard output.
#
#     docs/make-man.sh build/gpulot docs/gpulot.1.in
set -eu

program=$1
template=$2

# One command's --help as a section of the man page.
section() {
  "$program" "$1" --help | awk -v command="$1" '
    function safe(text) {
      gsub(/\\/, "\\e", text)
      gsub(/-/, "\\-", text)
      return text ~ /^[.'"'"']/ ? "\\&" text : text
    }
    function row(text,   name) {
      sub(/^  /, "", text)
      if (match(text, /   *[^ ]/)) {
        name = substr(text, 1, RSTART - 1)
        text = substr(text, RSTART)
        sub(/^ +/, "", text)
      } else {
        name = text
        text = ""
      }
      print ".TP\n.B " safe(name)
      if (text != "")
        print safe(text)
    }
    NR == 1 {
      sub(/^usage: /, "")
      print ".SS " safe($0)
      next
    }
    /^ +gpulot / && !options { sub(/^ +/, ""); print ".SS " safe($0); next }
    /^  (--[a-z]|[A-Z])/ { options = 1; row($0); next }
    options && /^    / { sub(/^ +/, ""); print safe($0); next }
    /^ *$/ { if (NR > 2 && !options) print ".PP"; next }
    /^  / { print ".nf\n" safe($0) "\n.fi"; next }
    { print safe($0) }
  '
}

commands=$("$program" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')
version=$("$program" --version | sed 's/^gpulot //')

while IFS= read -r line; do
  case $line in
  @COMMANDS@) for command in $commands; do section "$command"; done ;;
  *@VERSION@*) printf '%s%s%s\n' "${line%%@VERSION@*}" "$version" "${line#*@VERSION@}" ;;
  *) printf '%s\n' "$line" ;;
  esac
done <"$template"
