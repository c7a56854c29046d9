#!/bin/sh
# as_real.sh PROGRAM STAND_INS LIBRARIES: what the program prints over the stand-ins must be among what it prints over the
# real libraries. Each is a folder, or several as in a search path.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$3 "$1" > "$work/real" || { echo "over $3: exit $?"; exit 1; }
LD_LIBRARY_PATH=$2 "$1" > "$work/simulated" || { echo "over $2: exit $?"; exit 1; }
[ -s "$work/simulated" ] || { echo "nothing was printed over $2"; exit 1; }
if grep -Fxv -f "$work/real" "$work/simulated"; then
    echo "that is not what the real libraries say"
    exit 1
fi
