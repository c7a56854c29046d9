# bash completion for gpulot. It asks the program itself for its commands, options and choices, so it knows
# exactly those of the gpulot that is in PATH.

_gpulot_commands() {
  "$1" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'
}

# $1 program, $2 command
_gpulot_options() {
  "$1" "$2" --help 2>/dev/null | sed -n 's/^  \(--[a-z0-9-]*\).*/\1/p'
}

# $1 program, $2 command, $3 option: the values to choose from, where it has such
_gpulot_choices() {
  "$1" "$2" --help 2>/dev/null |
    awk -v option="$3" '
      $1 == option { mine = 1; print; next }
      /^  [^ ]/ { mine = 0 }
      mine { print }' |
    sed -n 's/.*: \([^ ]*|[^ ]*\).*/\1/p' | tr '|' '\n'
}

# Whether the option takes a value: its row has a second word before the text.
_gpulot_takes_value() {
  "$1" "$2" --help 2>/dev/null | grep -q -E "^  $3 [^ ]"
}

_gpulot() {
  local program=$1 word=$2 previous=$3 command=${COMP_WORDS[1]-} found
  COMPREPLY=()
  if [ "$COMP_CWORD" -le 1 ]; then
    found="$(_gpulot_commands "$program") --help --version"
  elif [[ $previous == --* ]] && _gpulot_takes_value "$program" "$command" "$previous"; then
    found=$(_gpulot_choices "$program" "$command" "$previous")
  elif [[ $word == -* ]]; then
    found=$(_gpulot_options "$program" "$command")
  elif [ "$COMP_CWORD" = 2 ]; then
    found=$(_gpulot_choices "$program" "$command" ACTION)
  else
    found=
  fi
  if [ -n "$found" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$found" -- "$word")
  else
    compopt -o default 2>/dev/null || true
  fi
}

complete -F _gpulot gpulot
