#!/bin/sh
# exports.sh MODULE FOLDER NVML_H: every CUDA symbol that the module needs is in the simulator under the same
# version, and every NVML function that it asks for by name.
set -e
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
versioned='(__)?(cuda|cublas)[A-Za-z0-9_]+@lib[A-Za-z]+\.so\.[0-9]+'
nm -D --undefined-only "$1" | grep -oE "$versioned" >"$scratch/list"
grep -oE '"nvml[A-Za-z0-9_]+"' "$3" | tr -d '"' >>"$scratch/list"
sort -u "$scratch/list" >"$scratch/needed"
nm -D --defined-only "$2"/lib* | sed 's/@@/@/' | grep -oE "$versioned|nvml[A-Za-z0-9_]+" | sort -u >"$scratch/given"
comm -23 "$scratch/needed" "$scratch/given" >"$scratch/missing"
cat "$scratch/missing"
echo "$(wc -l <"$scratch/needed") symbols needed, $(wc -l <"$scratch/missing") not there"
grep -q '^cuda' "$scratch/needed" && grep -q '^cublas' "$scratch/needed" && grep -q '^nvml' "$scratch/needed"
for library in libcudart libcublasLt; do
    readelf -d "$1" | grep -q "NEEDED.*\[$library\.so\." || { echo "$1 is not linked to $library: statically?"; exit 1; }
done
[ ! -s "$scratch/missing" ]
