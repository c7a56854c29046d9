#!/bin/sh
# The check of the CUDA device on a real GPU: builds, compares results, measures, and prints one table.
#
#     tests/cuda/gpu_check.sh [BUILD_FOLDER]
#
# Needs nvcc, a C compiler and a driver. Without cmake, MPI, HDF5 or the program's other libraries it says what it
# leaves out and checks the module alone, through tests/cuda/gpu_driver; without PyTorch it leaves the comparisons
# with PyTorch out. Takes under five minutes: a part for which no time is left is left out, and said to be. Uses the
# first visible GPU, changes none of its settings, and needs no network.
#
#     GPU_CHECK_WHOLE=FOLDER    a build of the whole program that is there already, in place of one of its own
#     GPU_CHECK_PYTHON=PROGRAM  the Python that has PyTorch; else python3
#
# Exit status: 0 every target met; 1 one missed or a check failed; 2 it could not build; 77 no GPU here.
#
# GPU_CHECK_REHEARSAL=1 goes every way with tiny sizes over whatever libraries LD_LIBRARY_PATH puts in front, and
# PyTorch on the CPU: for the test that keeps this script alive on a machine without a GPU. Its numbers mean nothing.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build-gpu-check}
rehearsal=${GPU_CHECK_REHEARSAL:-}
python=${GPU_CHECK_PYTHON:-python3}
limit=285 # seconds for everything
began=$(date +%s)
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

# Seconds that are left. A rehearsal may share its machine and is not held to them.
left() {
    if [ -n "$rehearsal" ]; then
        echo 600
    else
        echo $((limit - $(date +%s) + began))
    fi
}

# Runs a command for at most that many seconds and what is left of all; 124 where it took longer.
limited() {
    seconds=$1
    shift
    if [ "$(left)" -lt "$seconds" ]; then seconds=$(left); fi
    if [ "$seconds" -lt 1 ]; then return 124; fi
    if command -v timeout > /dev/null; then
        timeout -k 5 "$seconds" "$@"
    else
        "$@"
    fi
}

find_nvcc() {
    found=$(command -v nvcc) || found=""
    for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
        if [ -z "$found" ] && [ -n "$folder" ] && [ -x "$folder/bin/nvcc" ]; then found=$folder/bin/nvcc; fi
    done
    if [ -n "$found" ]; then readlink -f "$found"; fi
}

# The first of the folders that holds the file.
folder_with() {
    file=$1
    shift
    for folder in "$@"; do
        if [ -e "$folder/$file" ]; then
            (cd "$folder" && pwd)
            return
        fi
    done
}

# What to compile for: this GPU, where the toolkit knows it; else code of 8.0 that the driver compiles for it.
choose_arch() {
    capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null | head -n 1 | tr -dc 0-9)
    if [ -n "$rehearsal" ]; then
        echo sm_90
    elif [ -n "$capability" ] && "$nvcc" --list-gpu-arch 2> /dev/null | grep -qx "compute_$capability"; then
        echo "sm_$capability"
    else
        echo sm_80
    fi
}

# The module and the driver, with nothing but nvcc and cc. Kernels for this GPU only, which is quick.
build_alone() {
    flags="-O3 -fPIC -fvisibility=hidden -ffp-contract=off -I$root/src -I$root -I$headers"
    objects=""
    mkdir -p "$build/alone" || return 2
    for source in "$root"/gpu/cuda/*.c "$root"/gpu/generate.c "$root"/src/core/status.c "$root"/src/core/error.c \
        "$root"/src/core/field.c; do
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
    "${CC:-cc}" -std=c17 $flags "$root"/tests/cuda/gpu_driver/*.c -o "$build/alone/gpu_driver" \
        -Wl,--enable-new-dtags -Wl,-rpath,"$libraries" -L"$libraries" -lcudart -lcublasLt -ldl -lm || return 2
}

# A build of the whole program, or nothing but a line on what is left out.
build_whole() {
    if [ -n "${GPU_CHECK_WHOLE:-}" ]; then
        whole=$GPU_CHECK_WHOLE
        return 0
    fi
    whole=$build/whole
    if ! command -v cmake > /dev/null; then
        skip "the whole program and the module's tests: there is no cmake"
        return 1
    fi
    if ! limited 60 cmake -S "$root" -B "$whole" -DGPULOT_CUDA=ON -DCMAKE_CUDA_COMPILER="$nvcc" \
        "-DGPULOT_CUDA_ARCHITECTURES=${arch#sm_}-real" > "$build/configure.log" 2>&1; then
        skip "the whole program and the module's tests: cmake says $(grep -A 2 'CMake Error' "$build/configure.log" |
            head -n 3 | tr -s ' \n' ' ')"
        return 1
    fi
    limited 120 cmake --build "$whole" -j "$(nproc)" --target gpulot cuda mpi cuda_module_test > "$build/build.log" 2>&1
    case $? in
    0) ;;
    124)
        skip "the whole program and the module's tests: no time was left to build them"
        return 1
        ;;
    *)
        tail -n 20 "$build/build.log" >&2
        say "the whole program does not build, see $build/build.log"
        worst 2
        return 1
        ;;
    esac
}

# The whole program, where its libraries are there: the module's tests and one real measurement.
check_program() {
    build_whole || return
    say "the module's tests on this GPU"
    limited 60 "$whole/tests/cuda_module_test" > "$build/module_test.log" 2>&1
    case $? in
    0) printf 'module tests\tpassed\t\t\tok\n' >> "$build/results.tsv" ;;
    124) skip "the module's tests: no time was left" ;;
    *)
        grep -E 'ERROR|LINE|FAILED' "$build/module_test.log" >&2
        printf 'module tests\tfailed\t\t\tMISSED\n' >> "$build/results.tsv"
        worst 1
        ;;
    esac
    measure_program
}

# Seconds that a command takes, or nothing where it fails; its output goes to measure.log.
seconds_of() {
    first=$(date +%s.%N)
    limited 60 "$@" > "$build/measure.log" 2>&1 || return 1
    last=$(date +%s.%N)
    awk "BEGIN { printf \"%.3f\", $last - $first }"
}

# One measurement by the whole program, alone and under mpirun, and how long a PyTorch process takes for the same.
measure_program() {
    batch=8 context=1024 width=1024
    if [ -n "$rehearsal" ]; then batch=1 context=16 width=64; fi
    set -- "$whole/gpulot" measure --device cuda:0 --batch "$batch" --context "$context" --width "$width" \
        --dtype bfloat16 --warmup 3 --repeats 10 --quiet
    rm -f "$build/check.h5" "$build/check-mpi.h5"
    if ! ours=$(seconds_of "$@" --output "$build/check.h5"); then
        tail -n 5 "$build/measure.log" >&2
        printf 'whole process\tfailed\t\t\tMISSED\n' >> "$build/results.tsv"
        worst 1
        return
    fi
    printf 'whole process\t%s\ts\t\t-\n' "$ours" >> "$build/results.tsv"
    "$whole/gpulot" show "$build/check.h5" >&2 || worst 1
    if ! command -v mpirun > /dev/null; then
        skip "a measurement under mpirun: there is none"
    elif ours=$(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 seconds_of mpirun -n 1 "$@" \
        --output "$build/check-mpi.h5"); then
        printf 'whole process under mpirun\t%s\ts\t\t-\n' "$ours" >> "$build/results.tsv"
    else
        tail -n 5 "$build/measure.log" >&2
        printf 'whole process under mpirun\tfailed\t\t\tMISSED\n' >> "$build/results.tsv"
        worst 1
    fi
    if theirs=$(seconds_of "$python" "$root/tests/cuda/gpu_check_torch.py" ${rehearsal:+--rehearsal} process); then
        printf 'whole process, PyTorch\t%s\ts\t\t-\n' "$theirs" >> "$build/results.tsv"
    else
        skip "the time of a PyTorch process: $(tail -n 1 "$build/measure.log")"
    fi
}

check_pytorch() {
    if ! command -v "$python" > /dev/null; then
        skip "comparisons with PyTorch: there is no $python"
        return
    fi
    limited 100 "$python" "$root/tests/cuda/gpu_check_torch.py" ${rehearsal:+--rehearsal} "$build/exported" \
        "$build/results.tsv" > "$build/torch.tsv" 2> "$build/torch.log"
    case $? in
    0) ;;
    77) skip "comparisons with PyTorch: $(tail -n 1 "$build/torch.log")" ;;
    124) skip "the rest of the comparisons with PyTorch: no time was left" ;;
    *)
        grep -q MISSED "$build/torch.tsv" || tail -n 3 "$build/torch.log" >&2
        worst 1
        ;;
    esac
    cat "$build/torch.tsv" >> "$build/results.tsv"
}

# ---- what is here ----

nvcc=$(find_nvcc)
if [ -z "$nvcc" ]; then
    say "there is no nvcc"
    exit 77
fi
if [ -z "$rehearsal" ] && [ ! -e /dev/nvidiactl ] && [ ! -e /dev/nvhost-ctrl-gpu ]; then
    say "there is no NVIDIA driver here"
    exit 77
fi
cuda=$(cd "$(dirname "$nvcc")/.." && pwd)
headers=$(folder_with cuda_runtime_api.h "$cuda/include" "$cuda/targets/$(uname -m)-linux/include" /usr/include)
libraries=$(folder_with libcudart.so "$cuda/lib64" "$cuda/lib" "$cuda/targets/$(uname -m)-linux/lib" \
    "/usr/lib/$(uname -m)-linux-gnu")
if [ -z "$headers" ] || [ -z "$libraries" ]; then
    say "beside $nvcc there is no cuda_runtime_api.h or no libcudart.so"
    exit 2
fi
arch=$(choose_arch)

# ---- the parts ----

say "building for $arch in $build"
if ! build_alone; then
    say "the module does not build"
    exit 2
fi
mkdir -p "$build/exported"
limited 150 "$build/alone/gpu_driver" "$build/alone/gpulot-cuda.so" ${rehearsal:+--small} --export "$build/exported" \
    > "$build/results.tsv"
code=$?
if [ "$code" -eq 124 ]; then
    skip "the rest of the module's measurements: no time was left"
    code=1
fi
if [ "$code" -gt 1 ]; then code=2; fi
worst "$code"
if [ "$code" -lt 2 ]; then
    check_pytorch
    check_program
fi

# ---- the answer ----

grep '^#' "$build/results.tsv"
grep -v '^#' "$build/results.tsv" |
    awk -F '\t' '{ printf "%-52s %12s %-8s %-10s %s\n", $1, $2, $3, $4, $5 }'
[ -z "$skipped" ] || printf '%s\n' "$skipped"
if [ -n "$rehearsal" ]; then say "a rehearsal: no number here means anything"; fi
case $status in
0) say "every target that was checked is met, in $(($(date +%s) - began)) s" ;;
1) say "a target was missed or a check failed" ;;
*) say "the check could not run" ;;
esac
exit "$status"
