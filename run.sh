#!/usr/bin/env bash
# From a fresh clone to a first measurement (demo) or to every test (test). ./run.sh --help tells more.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build="$root/build"
venv="$root/.venv"
log="$build/run.log"
readonly root build venv log

readonly EXIT_FAILED=1 EXIT_REFUSED=2
readonly APT_LIMIT=1500 BUILD_LIMIT=2400 PIP_LIMIT=300 DEMO_LIMIT=180 TEST_LIMIT=3000

usage() {
  cat <<'TEXT'
usage: ./run.sh COMMAND

  build     install what building needs, and build build/gpulot
  demo      build, measure this CPU with two ranks, show the archive
  test      build, install what the tests need, run the whole suite
  install NEED...
            only install what is missing for: build, demo, test, ci
  missing NEED...
            only list what is missing, and change nothing

Missing packages are installed with apt-get, which needs root or sudo without a password; where that is not
possible they are listed. Everything is built in the folder build; Python packages for the tests go to .venv.
With CI=true a test that cannot run for want of the network fails instead of being skipped.

exit status: 0 done, 1 a test or the measurement failed, 2 something is missing that you have to install
TEXT
}

say() { printf '%s\n' "$*" >&2; }
die() { local status=$1; shift; say "run.sh: $*"; exit "$status"; }

# ---- what is needed: for | probe | packages (the first that exists) | why ----
#
# Probes: cmd:NAME a program; cmake:VERSION cmake of at least that version; include:HEADER a C header;
# python:MODULE a module of the system's python3; file:GLOB a file; fuzzer: clang's libFuzzer.

needs_table() {
  cat <<'TABLE'
build | cmd:gcc            | gcc                       | C17 compiler
build | include:stdlib.h   | libc6-dev                 | C library headers
build | include:omp.h      | gcc                       | OpenMP, for the host device
build | cmake:3.22         | cmake                     | 3.22 or newer, configures the build
build | cmd:ninja          | ninja-build               | builds
build | cmd:pkg-config     | pkg-config                | finds libraries
build | cmd:mpicc          | libopenmpi-dev            | MPI, to gather the ranks
build | include:hdf5.h     | libhdf5-dev               | HDF5, the archive
build | include:cjson/cJSON.h | libcjson-dev           | JSON records
build | include:oneapi/dnnl/dnnl.h | libdnnl-dev       | oneDNN, the host device
build | include:csv.h      | libcsv-dev                | reading price catalogues
build | include:openssl/evp.h | libssl-dev             | SHA-256 of catalogues and results
demo  | cmd:mpirun         | openmpi-bin               | starts the ranks
demo  | cmd:timeout        | coreutils                 | limits every wait
test  | cmd:mpirun         | openmpi-bin               | starts the ranks
test  | cmd:timeout        | coreutils                 | limits every wait
test  | include:cmocka.h   | libcmocka-dev             | unit tests
test  | cmd:g++            | g++                       | the CUDA simulator for tests
test  | cmd:python3        | python3                   | test programs
test  | python:ensurepip   | python3-venv              | the tests' own Python packages
test  | cmd:strace         | strace                    | tests of what is loaded and written
test  | cmd:git            | git                       | tests of the tree's structure
test  | cmd:file           | file                      | tests of the packages
test  | cmd:dpkg-shlibdeps | dpkg-dev                 | tests of the packages
test  | cmd:h5dump         | hdf5-tools                | an independent reader of the archive
test  | cmd:slurmctld      | slurm-wlm                 | tests under a real Slurm
test  | cmd:munged         | munge                     | Slurm's authentication
test  | file:/usr/lib/*/pmix*/lib/libpmix.so.2 | libpmix2 libpmix2t64      | srun starts MPI ranks through it
test  | cmd:ip             | iproute2                  | tests with several hosts on one machine
test  | cmd:unshare        | util-linux                | tests with several hosts on one machine
test  | cmd:pgrep          | procps                    | tests that look for processes left behind
ci    | cmd:clang          | clang                     | fuzzing, and a second compiler
ci    | cmd:clang-format   | clang-format              | layout of the source
ci    | cmd:clang-tidy     | clang-tidy                | static analysis
ci    | cmd:run-clang-tidy | clang-tools               | static analysis on all cores
ci    | fuzzer:            | libclang-rt-dev libclang-rt-18-dev libclang-rt-14-dev libclang-common-14-dev | sanitizers and libFuzzer for clang
ci    | cmd:shellcheck     | shellcheck                | analysis of the scripts
TABLE
}

trim() { local text=$1; text="${text#"${text%%[![:space:]]*}"}"; printf '%s' "${text%"${text##*[![:space:]]}"}"; }

have_header() {
  command -v gcc >/dev/null &&
    printf '#include <%s>\n' "$1" | gcc -E -I/usr/include/hdf5/serial -fopenmp -x c - >/dev/null 2>&1
}

have_cmake() {
  local version
  version=$(cmake --version 2>/dev/null | sed -n 's/^cmake version //p') || return 1
  [ -n "$version" ] && [ "$(printf '%s\n%s\n' "$1" "$version" | sort -V | head -n 1)" = "$1" ]
}

have_fuzzer() {
  local folder
  folder=$(clang -print-runtime-dir 2>/dev/null) && compgen -G "$folder/libclang_rt.fuzzer*.a" >/dev/null
}

have() {
  local probe=$1 value=${1#*:}
  case $probe in
  cmd:*) PATH="$PATH:/sbin:/usr/sbin" command -v "$value" >/dev/null ;;
  cmake:*) have_cmake "$value" ;;
  include:*) have_header "$value" ;;
  python:*) python3 -c "import $value" >/dev/null 2>&1 ;;
  file:*) compgen -G "$value" >/dev/null ;;
  fuzzer:*) have_fuzzer ;;
  *) die "$EXIT_FAILED" "unknown probe $probe" ;;
  esac
}

# Which rows a command needs: each contains those before it.
rows_of() {
  case $1 in
  build) echo build ;;
  demo) echo build demo ;;
  test) echo build test ;;
  ci) echo build test ci ;;
  *) die "$EXIT_REFUSED" "unknown need '$1': build, demo, test or ci" ;;
  esac
}

# Prints "packages | why" of every row of the needs given that is missing.
missing_rows() {
  local wanted=" " need row for probe packages why
  for need in "$@"; do
    row=$(rows_of "$need") || exit
    wanted+="$row "
  done
  while IFS='|' read -r for probe packages why; do
    for=$(trim "$for")
    [[ $wanted == *" $for "* ]] || continue
    have "$(trim "$probe")" || printf '%s | %s\n' "$(trim "$packages")" "$(trim "$why")"
  done < <(needs_table)
}

# ---- installing ----

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }
can_install() { command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }; }

apt() {
  as_root env DEBIAN_FRONTEND=noninteractive timeout "$APT_LIMIT" apt-get -qq -o DPkg::Lock::Timeout=120 \
    -o Acquire::Retries=3 "$@" </dev/null
}

# The first of several names that this release of the distribution has.
first_existing() {
  local name
  for name in "$@"; do
    if apt-cache show "$name" 2>/dev/null | grep -q '^Package:'; then
      echo "$name"
      return
    fi
  done
  echo "$1"
}

list_missing() {
  local packages why
  while IFS='|' read -r packages why; do
    packages=$(trim "$packages")
    printf '  %-22s %s\n' "${packages// / or }" "$(trim "$why")" >&2
  done <<<"$1"
}

show_missing() {
  local rows
  rows=$(missing_rows "$@")
  if [ -z "$rows" ]; then say "nothing is missing"; else list_missing "$rows"; fi
}

install_needs() {
  local rows packages why chosen=()
  rows=$(missing_rows "$@")
  [ -n "$rows" ] || return 0
  if ! can_install; then
    say "These packages (Debian's names) are missing, and cannot be installed from here:"
    list_missing "$rows"
    die "$EXIT_REFUSED" "install them, or run this where there is apt-get and root or sudo without a password"
  fi
  say "Missing, to be installed with apt-get:"
  list_missing "$rows"
  mkdir -p "$build"
  apt update >>"$log" 2>&1 || say "run.sh: apt-get update failed; the lists there are may do ($log)"
  while IFS='|' read -r packages why; do
    read -r -a packages <<<"$packages"
    chosen+=("$(first_existing "${packages[@]}")")
  done <<<"$rows"
  apt install -y --no-install-recommends "${chosen[@]}" >>"$log" 2>&1 || {
    tail -n 15 "$log" >&2
    die "$EXIT_REFUSED" "apt-get could not install: ${chosen[*]} (all of it in $log)"
  }
  rows=$(missing_rows "$@")
  [ -z "$rows" ] || { list_missing "$rows"; die "$EXIT_REFUSED" "still missing after apt-get"; }
}

# The tests' Python packages, into .venv; done once for each content of tests/requirements.txt.
install_python() {
  local wanted="$root/tests/requirements.txt"
  cmp -s "$wanted" "$venv/requirements.done" && return 0
  say "Installing the tests' Python packages into .venv:" "$(grep -v '^#' "$wanted" | tr '\n' ' ')"
  mkdir -p "$build"
  if { [ -x "$venv/bin/python3" ] || timeout "$PIP_LIMIT" python3 -m venv "$venv"; } >>"$log" 2>&1 &&
    timeout "$PIP_LIMIT" "$venv/bin/python3" -m pip install --disable-pip-version-check --no-input \
      --only-binary :all: --retries 1 -r "$wanted" </dev/null >>"$log" 2>&1; then
    cp "$wanted" "$venv/requirements.done"
  elif [ "${CI:-}" = true ]; then
    tail -n 15 "$log" >&2
    die "$EXIT_FAILED" "the tests' Python packages could not be installed"
  else
    say "run.sh: they could not be installed ($log); the tests that need them will be skipped and say so"
  fi
}

# ---- building ----

logged() {
  local limit=$1 what=$2
  shift 2
  timeout "$limit" "$@" </dev/null >>"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    die "$EXIT_FAILED" "$what failed (all of it in $log)"
  }
}

# $1: ON with the tests, KEEP as the folder is, without them where it is new.
build_program() {
  local testing=$1 options=()
  mkdir -p "$build"
  if [ "$testing" = ON ]; then
    options=(-DBUILD_TESTING=ON)
  elif [ ! -e "$build/CMakeCache.txt" ]; then
    options=(-DBUILD_TESTING=OFF)
  fi
  [ -x "$build/gpulot" ] || say "Building in $build; this takes a minute or two the first time."
  (cd "$root" && logged "$BUILD_LIMIT" "configuring" cmake --preset release "${options[@]}")
  logged "$BUILD_LIMIT" "building" cmake --build "$build" --parallel "$(nproc)"
  say_without_cuda
}

# GPUs cannot be measured by such a build, which nobody should find out from a refusal.
say_without_cuda() {
  local reason
  [ ! -e "$build/lib/gpulot/gpulot-cuda.so" ] || return 0
  reason=$(sed -n 's/^-- CUDA: \(.*\); no CUDA device module is built$/\1/p' "$log" | tail -n 1)
  say "Built without the CUDA device: ${reason:-GPULOT_CUDA is OFF}"
}

# mpirun as root, in a container, with fewer slots than ranks.
allow_mpirun() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
  export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
  export OMPI_MCA_btl_vader_single_copy_mechanism=none
}

# ---- the commands ----

# The ranks are not bound, so that this works wherever mpirun may not bind; each gets its share of the CPUs instead.
demo() {
  local file ranks=2 cpus
  cpus=$(nproc)
  install_needs demo
  build_program KEEP
  allow_mpirun
  mkdir -p "$build/demo"
  file="$build/demo/$(date -u +%Y%m%dT%H%M%SZ)-$$.h5"
  say "Measuring this CPU with two ranks. It is a real measurement, of a CPU and of a small network."
  # Open MPI 5 says so where it finds no network; two ranks on one machine need none.
  OMPI_MCA_btl=^tcp timeout "$DEMO_LIMIT" mpirun -n "$ranks" "$build/gpulot" measure --device host --batch 2 --context 64 \
    --width 256 --dtype float32 --warmup 2 --repeats 10 --threads $(((cpus + ranks - 1) / ranks)) --label demo \
    --output "$file" </dev/null ||
    die "$EXIT_FAILED" "the measurement failed or took more than $DEMO_LIMIT s"
  timeout "$DEMO_LIMIT" "$build/gpulot" show "$file" || die "$EXIT_FAILED" "the archive could not be shown"
  cat <<TEXT

The archive is $file
What to try next:
  build/gpulot export $file --format csv
  build/gpulot check $file
  build/gpulot measure --help           another size, another dtype
  mpirun -n 2 build/gpulot measure --device cuda:local --output gpus.h5 ...   on a machine with GPUs
TEXT
}

# Twice as many tests at a time as there are CPUs: the long ones wait for a limit or for a launcher, and compute little.
run_tests() {
  install_needs test
  install_python
  build_program ON
  allow_mpirun
  timeout "$TEST_LIMIT" ctest --test-dir "$build" --output-on-failure --no-tests=error \
    --parallel $((2 * $(nproc))) --timeout 600 --output-junit "$build/tests.xml" </dev/null
}

main() {
  [ $# -ge 1 ] || { usage >&2; exit "$EXIT_REFUSED"; }
  local command=$1
  shift
  case $command in
  build | demo | test)
    [ $# = 0 ] || die "$EXIT_REFUSED" "$command takes no argument"
    ;;
  esac
  case $command in
  build) install_needs build; build_program KEEP; say "built: $build/gpulot" ;;
  demo) demo ;;
  test) run_tests ;;
  install) install_needs "$@" ;;
  missing) show_missing "$@" ;;
  --help | -h | help) usage ;;
  *) say "run.sh: unknown command '$command'"; usage >&2; exit "$EXIT_REFUSED" ;;
  esac
}

main "$@"
