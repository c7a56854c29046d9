#!/bin/sh
# The check of the CUDA device on a real GPU: builds, compares results, measures, and prints one table.
#
#     tests/cuda/gpu_check.sh [BUILD_FOLDER]
#
# Needs nvcc of CUDA 11.8 or newer (on PATH, in $CUDA_HOME or $CUDA_PATH, below /usr/local, among Python's packages),
# cuBLASLt, a C compiler and a driver; nothing else, no network, and under five minutes. A part for which
# no time is left, or something else, is left out, and said to be; one that fails, or that hangs, is a line of the table,
# and the next one is done. Stopped by a signal, it prints the table as far as it came. Uses the first visible GPU and
# changes none of its settings. Its standard output is what docs/measurements/ keeps.
#
# Always: the module alone, through tests/cuda/gpu_driver, one process a part. Where there is PyTorch: the same by
# PyTorch. Where the whole program can be built, or a build is handed over: the module's tests and a measurement.
#
#     GPU_CHECK_WHOLE=FOLDER    such a build: a build folder, or what tests/cuda/gpu_bundle.sh made of one elsewhere;
#                               its module is checked where none can be built here
#     GPU_CHECK_PYTHON=PROGRAM  the Python that has PyTorch; else python3
#     GPU_CHECK_NVCC=PROGRAM    the nvcc; without any, what a build that is handed over holds is checked
#     GPU_CHECK_SANITIZER=PROGRAM  the compute-sanitizer; else that on PATH or of the toolkit
#     CUDAHOSTCXX=PROGRAM       the C++ compiler for nvcc, where it does not take the machine's own
#     GPU_CHECK_DRIVER=FOLDER   the driver's bin and lib64, as some containers have it; else /usr/local/nvidia
#     GPU_CHECK_LIMIT=SECONDS   for everything; else 285
#
# Exit status: 0 every target met; 1 one missed or a check failed; 2 something did not build; 77 no GPU here.
#
# What only a GPU can settle, and which line tells it:
#   - whether a freed block counts until a synchronisation, the pool's steps   "# pool ...", "# allocator ..."
#   - steps and support of energy and throttle counters, a reading's cost      "# telemetry ...", "# absent: ..."
#   - whether cuBLASLt takes every shape, GELU_BIAS in float32 and tf32        "odd shapes: refused", "# refused: ..."
#   - whether kernels and products reach behind 2^31 elements                  "large tensor: ...", "large product: ..."
#   - whether equal passes give equal bits with the chosen algorithms          "outputs that differ"
#   - whether the first algorithm is good enough, or --tune is needed          "products / best algorithm[, tuned]"
#   - what pool and events cost a small pass                                   "small forward, ..."
#   - whether the level 2 cache is empty after a flush                         "read after a flush ..."
#
# GPU_CHECK_REHEARSAL=1 goes every way with tiny sizes over whatever libraries LD_LIBRARY_PATH puts in front, and
# PyTorch on the CPU: for the test that keeps this script alive on a machine without a GPU. Its numbers mean nothing.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build-gpu-check}
rehearsal=${GPU_CHECK_REHEARSAL:-}
python=${GPU_CHECK_PYTHON:-python3}
limit=${GPU_CHECK_LIMIT:-285}
reserve=90 # seconds of it for PyTorch and the whole program
began=$(date +%s)
status=0
skipped=""
child=""  # what is waited for
driver="" # gpu_driver and the module that it takes
module=""
# shellcheck source=tests/cuda/gpu_check_toolkit.sh
. "$root/tests/cuda/gpu_check_toolkit.sh"

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

# Runs a command for at most that many seconds and what is left of all; 124 where it took longer. It is waited for in
# a way that a signal to this script cuts short: a process that a driver holds cannot be killed.
limited() {
    seconds=$1
    shift
    if [ "$(left)" -lt "$seconds" ]; then seconds=$(left); fi
    if [ "$seconds" -lt 1 ]; then return 124; fi
    if command -v timeout > /dev/null; then
        timeout -k 5 "$seconds" "$@" 3>&- 4>&- &
    else
        "$@" 3>&- 4>&- &
    fi
    child=$!
    wait "$child"
    set -- $?
    child=""
    return "$1"
}

# What it means that a command took all of its time: out_of_time WHAT NEEDED GIVEN. NEEDED seconds are far more than it
# needs: where it was given them, it hangs; else no time was left.
out_of_time() {
    if [ "$3" -lt "$2" ]; then
        skip "$1, or the rest of it: no time was left"
        return
    fi
    printf '%s\thangs\t\t<= %s s\tMISSED\n' "$1" "$2" >> "$build/results.tsv"
    worst 1
}

# A part of the driver in a process of its own: driver_part SECONDS [OPTION]... PART.
driver_part() {
    needed=$1
    shift
    for part; do :; done
    if [ "$1" = --tune ]; then part="$part, tuned"; fi
    if [ -n "$rehearsal" ]; then needed=$((2 * needed)); fi
    given=$(($(left) - reserve))
    if [ "$given" -gt "$needed" ]; then given=$needed; fi
    limited "$given" env "$found_in" "$driver" "$module" ${rehearsal:+--small} "$@" >> "$build/results.tsv"
    code=$?
    case $code in
    0) ;;
    1) worst 1 ;;
    124 | 137) out_of_time "the part '$part'" "$needed" "$given" ;;
    *)
        printf "the part '%s'\\tfailed\\t\\t\\tMISSED\\n" "$part" >> "$build/results.tsv"
        worst 1
        ;;
    esac
}

# The parts by what they are worth where time runs short. The first one also waits for CUDA's libraries to come off the
# disk.
check_module() {
    say "the module alone"
    driver_part 120 facts
    driver_part 30 values
    driver_part 40 --export "$build/exported" layers
    driver_part 40 bandwidth
    driver_part 40 bfloat16
    driver_part 20 small
    driver_part 30 load
    driver_part 40 large
    driver_part 40 float16
    driver_part 40 tf32
    driver_part 50 float32
    driver_part 40 --tune 16 bfloat16
    driver_part 20 cache
}

# A build of the whole program, or nothing but a line on what is left out. Its kernels are those of the module alone: for
# a GPU that the toolkit does not know it needs their PTX as well.
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
        "-DGPULOT_CUDA_ARCHITECTURES=${arch#sm_}" > "$build/configure.log" 2>&1; then
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
    given=$(left)
    limited 60 env "$found_in" GPULOT_MODULE_DIR="$whole/lib/gpulot" "$whole/tests/cuda_module_test" \
        > "$build/module_test.log" 2>&1
    case $? in
    0) printf 'module tests\tpassed\t\t\tok\n' >> "$build/results.tsv" ;;
    124 | 137) out_of_time "module tests" 60 "$given" ;;
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
    set -- env "$found_in" "$whole/gpulot" measure --device cuda:0 --dtype bfloat16 --batch "$batch" \
        --context "$context" --width "$width" --warmup 3 --repeats 10 --quiet
    rm -f "$build/check.h5" "$build/check-mpi.h5"
    if ! alone=$(seconds_of "$@" --output "$build/check.h5"); then
        tail -n 5 "$build/measure.log" >&2
        printf 'whole process\tfailed\t\t\tMISSED\n' >> "$build/results.tsv"
        worst 1
        return
    fi
    printf 'whole process\t%s\ts\t\t-\n' "$alone" >> "$build/results.tsv"
    limited 20 env "$found_in" "$whole/gpulot" show "$build/check.h5" >&2 || worst 1
    if ! command -v mpirun > /dev/null || [ ! -e "$whole/lib/gpulot/gpulot-mpi.so" ]; then
        skip "a measurement under mpirun: there is none, or no module for it"
    elif ours=$(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        seconds_of mpirun -n 1 "$@" --output "$build/check-mpi.h5"); then
        printf 'whole process under mpirun\t%s\ts\t\t-\n' "$ours" >> "$build/results.tsv"
    else
        tail -n 5 "$build/measure.log" >&2
        printf 'whole process under mpirun\tfailed\t\t\tMISSED\n' >> "$build/results.tsv"
        worst 1
    fi
    if ! theirs=$(seconds_of "$python" "$root/tests/cuda/gpu_check_torch.py" ${rehearsal:+--rehearsal} process); then
        skip "the time of a PyTorch process: $(tail -n 1 "$build/measure.log")"
        return
    fi
    printf 'whole process, PyTorch\t%s\ts\t\t-\n' "$theirs" >> "$build/results.tsv"
    ratio=$(awk "BEGIN { printf \"%.3f\", $alone / $theirs }")
    verdict=ok
    if [ -n "$rehearsal" ]; then
        verdict=-
    elif awk "BEGIN { exit $ratio <= 1 }"; then
        verdict=MISSED
        worst 1
    fi
    printf 'whole process / PyTorch\t%s\t\t<= 1\t%s\n' "$ratio" "$verdict" >> "$build/results.tsv"
}

# The module's kernels under a checker that sees every access, where there is one that can watch this device. Calls that
# fail are not its affair: the libraries ask the driver for functions that it may not have.
check_accesses() {
    checker=${GPU_CHECK_SANITIZER:-}
    if [ -z "$checker$rehearsal" ]; then
        checker=$(command -v compute-sanitizer) || checker=$cuda/bin/compute-sanitizer
    fi
    if [ -z "$driver" ] || [ ! -x "$checker" ]; then
        skip "accesses of the kernels: there is no compute-sanitizer, no GPU, or nothing to run on it"
        return
    fi
    for tool in memcheck racecheck; do
        limited 40 env "$found_in" "$checker" --tool "$tool" --report-api-errors no --error-exitcode 9 "$driver" \
            "$module" --small values > "$build/$tool.log" 2>&1
        case $? in
        0) printf 'accesses of the kernels, %s\tpassed\t\t\tok\n' "$tool" >> "$build/results.tsv" ;;
        9)
            if grep -q 'Device not supported' "$build/$tool.log"; then
                skip "accesses of the kernels, $tool: it cannot watch this device"
                continue
            fi
            grep '===' "$build/$tool.log" | head -n 20 >&2
            printf 'accesses of the kernels, %s\tfailed\t\t\tMISSED\n' "$tool" >> "$build/results.tsv"
            worst 1
            ;;
        *) skip "accesses of the kernels, $tool: $(grep '===' "$build/$tool.log" | tail -n 1)" ;;
        esac
    done
}

check_pytorch() {
    if ! command -v "$python" > /dev/null; then
        skip "comparisons with PyTorch: there is no $python"
        return
    fi
    limited 100 "$python" "$root/tests/cuda/gpu_check_torch.py" ${rehearsal:+--rehearsal} "$build/exported" \
        "$build/results.tsv" env "$found_in" "$driver" "$module" ${rehearsal:+--small} \
        > "$build/torch.tsv" 2> "$build/torch.log"
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

# What the environment sets of the variables that a record keeps, for they change what is measured.
chosen() {
    sed -n 's/^    "\([A-Z_0-9]*\)",\{0,1\}$/\1/p' "$root/src/measure/launch.c" | while read -r name; do
        env | grep "^$name="
    done | tr '\n' ' '
}

# The table, and what was left out of it.
answer() {
    grep '^#' "$build/results.tsv"
    grep -v '^#' "$build/results.tsv" |
        awk -F '\t' '{ printf "%-52s %12s %-8s %-10s %s\n", $1, $2, $3, $4, $5 }'
    [ -z "$skipped" ] || printf '%s\n' "$skipped"
    if [ -n "$rehearsal" ]; then say "a rehearsal: no number here means anything"; fi
}

# shellcheck disable=SC2317 # called by a signal
stopped() {
    trap '' HUP INT TERM
    exec >&3 2>&4 # whatever was redirected
    if [ -n "$child" ]; then kill "$child"; fi
    worst 1
    answer
    say "stopped after $(($(date +%s) - began)) s, with parts undone"
    exit "$status"
}

# ---- what is here ----

# Behind all others: where the loader finds the driver by itself, it is the same one.
mounted=${GPU_CHECK_DRIVER:-/usr/local/nvidia}
if [ -d "$mounted" ]; then
    PATH=$PATH:$mounted/bin
    LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$mounted/lib64
    export PATH LD_LIBRARY_PATH
fi
if [ -z "$rehearsal" ] && [ ! -e /dev/nvidiactl ] && [ ! -e /dev/nvhost-ctrl-gpu ] && [ ! -e /dev/dxg ]; then
    say "there is no NVIDIA driver here"
    exit 77
fi
find_toolkit || exit
# A bundle brings libraries of its own; what it lacks, CUDA's, is found as for the module alone.
found_in=LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}${GPU_CHECK_WHOLE:+$GPU_CHECK_WHOLE/libs:}
found_in=$found_in$libraries:$blas_libraries

# ---- the parts ----

mkdir -p "$build/exported"
built="built elsewhere"
if [ -z "$nvcc" ]; then
    take_alone
else
    arch=$(choose_arch)
    say "building for $arch in $build"
    if build_alone; then
        built="$("$nvcc" --version | grep -o 'release.*' | head -n 1), built for $arch"
    else
        say "the module does not build${GPU_CHECK_WHOLE:+; that of $GPU_CHECK_WHOLE is checked}"
        worst 2
        take_alone
        if [ -z "$driver" ]; then exit 2; fi
    fi
fi
exec 3>&1 4>&2
: > "$build/results.tsv"
trap stopped HUP INT TERM
{
    source=$(git -C "$root" describe --always --dirty 2> /dev/null) || source=unknown
    echo "# gpu_check.sh on $(date -u '+%Y-%m-%d %H:%M') UTC, source $source"
    echo "# environment: $(chosen)"
    echo "# $(nproc) CPUs, $built"
} >> "$build/results.tsv"
if [ -n "$driver" ]; then
    check_module
    check_pytorch
else
    skip "the module alone, and PyTorch beside it: there is no nvcc of CUDA 11.8 or newer, and no build of it"
fi
check_program
check_accesses

# ---- the answer ----

answer
case $status in
0) say "every target that was checked is met, in $(($(date +%s) - began)) s" ;;
1) say "a target was missed or a check failed" ;;
*) say "not everything could be built" ;;
esac
exit "$status"
