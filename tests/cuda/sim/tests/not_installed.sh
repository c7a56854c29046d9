#!/bin/sh
# not_installed.sh CMAKE BUILD: installs to a scratch folder; nothing in it may be of the simulator, carry its marks
# or look for libraries outside the system's places.
set -e
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
DESTDIR="$scratch" "$1" --install "$2" >/dev/null
[ -n "$(find "$scratch" -type f -name gpulot)" ] || { echo "the program was not installed"; exit 1; }
if find "$scratch" -name 'libcudart*' -o -name 'libcublasLt*' -o -name 'libnvidia-ml*' -o -name 'libcuda.*' | grep .; then
    echo "a CUDA library is installed"
    exit 1
fi
if grep -rlaE 'GPULOT_CUDASIM_|simulated CUDA runtime' "$scratch"; then
    echo "these files carry marks of the simulator"
    exit 1
fi
find "$scratch" -type f | while read -r file; do
    if readelf -d "$file" 2>/dev/null | grep -E 'R(UN)?PATH.*cudasim'; then
        echo "$file looks for the simulator"
        exit 1
    fi
done
