#!/bin/sh
# The check of the CUDA device on a real GPU: builds, compares results, measures, and prints one table.
#
#     tests/cuda/gpu_check.sh [BUILD_FOLDER]
#
# Needs nvcc, a C compiler and a driver. Without cmake, MPI, HDF5 or the program's other libraries it says what it
# leaves out and checks the module alone, through tests/cuda/gpu_driver.c; without PyTorch it leaves the comparisons
# with PyTorch out. Takes under five minutes; uses the first visible GPU and changes none of its settings.
#
# Exit status: 0 every target met; 1 one missed or a check failed; 2 it could not build; 77 no GPU here.
#
# GPU_CHECK_REHEARSAL=1 runs it with tiny sizes over whatever libraries LD_LIBRARY_PATH puts in front: for the
# test that keeps this script alive on a machine without a GPU. Its numbers mean nothing.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build-gpu-check}
rehearsal=${GPU_CHECK_REHEARSAL:-}
status=0
skipped=""

say() { printf '%s\n' "gpu_check: $*" >&2; }

# A part that is left out is named at the end: it must not pass for one that was done.
skip() {
    skipped="$skipped
  left out: $*"
}

worst() {
    if [ "$1" -gt "$status" ]; then status=$1; fi
}

find_nvcc() {
    command -v nvcc && return
    for folder in "${CUDA_HOME:-}" /usr/local/cuda; do
        if [ -n "$folder" ] && [ -x "$folder/bin/nvcc" ]; then
            echo "$folder/bin/nvcc"
            return
        fi
    done
}

# The module and the driver, with nothing but nvcc and cc. Kernels for this GPU only, which is quick.
build_alone() {
    cuda=$(cd "$(dirname "$nvcc")/.." && pwd)
    flags="-O3 -fPIC -fvisibility=hidden -ffp-contract=off -I$root/src -I$root -I$cuda/include"
    objects=""
    mkdir -p "$build/alone" || return 2
    for source in "$root"/gpu/cuda/*.c "$root"/src/core/status.c "$root"/src/core/error.c; do
        object=$build/alone/$(basename "$source" .c).o
        # shellcheck disable=SC2086 # flags are words
        "${CC:-cc}" -std=c17 -D_POSIX_C_SOURCE=200809L $flags -fopenmp -c "$source" -o "$object" || return 2
        objects="$objects $object"
    done
    "$nvcc" -std=c++17 -O3 -arch="$arch" -I"$root/src" -I"$root" \
        -Xcompiler=-fPIC,-fvisibility=hidden,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics \
        -c "$root/gpu/cuda/kernels.cu" -o "$build/alone/kernels.o" || return 2
    # shellcheck disable=SC2086
    "${CC:-cc}" -shared -o "$build/alone/gpulot-cuda.so" $objects "$build/alone/kernels.o" -fopenmp \
        -Wl,--enable-new-dtags -Wl,-rpath,"$libraries" -Wl,--version-script="$root/gpu/cuda/cuda.map" \
        -L"$libraries" -lcudart -lcublasLt -ldl -lpthread -lm || return 2
    # shellcheck disable=SC2086
    "${CC:-cc}" -std=c17 $flags "$root/tests/cuda/gpu_driver.c" -o "$build/alone/gpu_driver" \
        -Wl,--enable-new-dtags -Wl,-rpath,"$libraries" -L"$libraries" -lcudart -lcublasLt -ldl -lm || return 2
}

# The whole program, where its libraries are there: the module's tests and one real measurement.
check_program() {
    if ! command -v cmake > /dev/null; then
        skip "the whole program and the module's tests: there is no cmake"
        return
    fi
    if ! cmake -S "$root" -B "$build/whole" -DGPULOT_CUDA=ON "-DGPULOT_CUDA_ARCHITECTURES=${arch#sm_}-real" \
        > "$build/configure.log" 2>&1; then
        skip "the whole program and the module's tests: cmake says $(grep -m 1 -A 2 'CMake Error' \
            "$build/configure.log" | tr '\n' ' ')"
        return
    fi
    if ! cmake --build "$build/whole" -j "$(nproc)" > "$build/build.log" 2>&1; then
        tail -n 20 "$build/build.log" >&2
        say "the whole program does not build, see $build/build.log"
        worst 2
        return
    fi
    say "the module's tests on this GPU"
    if ! "$build/whole/tests/cuda_module_test" > "$build/module_test.log" 2>&1; then
        grep -E 'ERROR|LINE|FAILED' "$build/module_test.log" >&2
        worst 1
    fi
    measure_program
}

# Seconds that a command takes, or nothing where it fails; its output goes to measure.log.
seconds_of() {
    began=$(date +%s.%N)
    "$@" > "$build/measure.log" 2>&1 || return 1
    ended=$(date +%s.%N)
    awk "BEGIN { printf \"%.3f\", $ended - $began }"
}

# One measurement by the whole program, and how long a PyTorch process takes for the same passes.
measure_program() {
    if ! command -v mpirun > /dev/null; then
        skip "a measurement with the whole program: there is no mpirun"
        return
    fi
    rm -f "$build/check.h5"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    if ! ours=$(seconds_of mpirun -n 1 "$build/whole/gpulot" measure --device cuda:0 --batch 8 --context 1024 \
        --width 1024 --dtype bfloat16 --warmup 3 --repeats 10 --output "$build/check.h5"); then
        tail -n 5 "$build/measure.log" >&2
        worst 1
        return
    fi
    printf 'whole process\t%s\ts\t\t-\n' "$ours" >> "$build/results.tsv"
    "$build/whole/gpulot" show "$build/check.h5" >&2
    theirs=$(seconds_of python3 "$root/tests/cuda/gpu_check_torch.py" process) || return
    printf 'whole process, PyTorch\t%s\ts\t\t-\n' "$theirs" >> "$build/results.tsv"
}

check_pytorch() {
    if ! command -v python3 > /dev/null; then
        skip "comparisons with PyTorch: there is no python3"
        return
    fi
    python3 "$root/tests/cuda/gpu_check_torch.py" "$build/exported" "$build/results.tsv" > "$build/torch.tsv" 2> \
        "$build/torch.log"
    case $? in
    0) ;;
    1) [ -s "$build/torch.tsv" ] && ! grep -q MISSED "$build/torch.tsv" && tail -n 3 "$build/torch.log" >&2
        worst 1 ;;
    77) skip "comparisons with PyTorch: $(tail -n 1 "$build/torch.log")" ;;
    *)
        tail -n 3 "$build/torch.log" >&2
        worst 1
        ;;
    esac
    cat "$build/torch.tsv" >> "$build/results.tsv"
}

nvcc=$(find_nvcc)
if [ -z "$nvcc" ]; then
    say "there is no nvcc"
    exit 77
fi
if [ -z "$rehearsal" ] && [ ! -e /dev/nvidiactl ] && [ ! -e /dev/nvhost-ctrl-gpu ]; then
    say "there is no NVIDIA driver here"
    exit 77
fi
libraries=$(cd "$(dirname "$nvcc")/.." && pwd)/lib64
arch=native
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null | head -n 1 | tr -d .)
case $capability in
'' | *[!0-9]*) if [ -n "$rehearsal" ]; then arch=sm_90; else arch=sm_80; fi ;;
*) arch=sm_$capability ;;
esac

say "building for $arch in $build"
if ! build_alone; then
    say "the module does not build"
    exit 2
fi
mkdir -p "$build/exported"
"$build/alone/gpu_driver" "$build/alone/gpulot-cuda.so" ${rehearsal:+--small} --export "$build/exported" \
    > "$build/results.tsv"
code=$?
worst "$code"
if [ "$code" -lt 2 ] && [ -z "$rehearsal" ]; then
    check_pytorch
    check_program
elif [ -n "$rehearsal" ]; then
    skip "everything but the module alone, with tiny sizes: a rehearsal"
fi

grep '^#' "$build/results.tsv"
grep -v '^#' "$build/results.tsv" |
    awk -F '\t' '{ printf "%-52s %12s %-8s %-10s %s\n", $1, $2, $3, $4, $5 }'
[ -z "$skipped" ] || printf '%s\n' "$skipped"
case $status in
0) say "every target that was checked is met" ;;
1) say "a target was missed or a check failed" ;;
*) say "the check could not run" ;;
esac
exit "$status"
