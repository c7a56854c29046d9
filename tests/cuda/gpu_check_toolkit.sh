#!/bin/sh
# What tests/cuda/gpu_check.sh builds with, and the build of the module alone. Functions for that script: they use its
# variables and its say and limited.
# shellcheck disable=SC2154,SC2034 # rehearsal, build, root, python are set there; driver and module are used there

# Where nvcc may be, the best first. A toolkit is often not on PATH.
nvcc_candidates() {
    if [ -n "${GPU_CHECK_NVCC:-}" ]; then
        echo "$GPU_CHECK_NVCC"
        return
    fi
    command -v nvcc
    printf '%s/bin/nvcc\n' "${CUDA_HOME:-/usr/local/cuda}" "${CUDA_PATH:-/usr/local/cuda}" /usr/local/cuda
    printf '%s/bin/nvcc\n' /usr/local/cuda-* | sort -Vr
    python_folders bin | sed 's,$,/nvcc,'
}

# The number before the point of the CUDA version that the driver serves, or nothing where it does not say.
driver_serves() {
    limited 30 nvidia-smi 2> /dev/null | sed -n 's/.*CUDA[A-Za-z ]*: *\([0-9][0-9]*\).*/\1/p' | head -n 1
}

# The first of them that is new enough, and, unless it was named, not too new for the driver.
find_nvcc() {
    serves=""
    if [ -z "${GPU_CHECK_NVCC:-}" ]; then serves=$(driver_serves); fi
    nvcc_candidates | while read -r candidate; do
        release=$("$candidate" --version 2> /dev/null | sed -n 's/.*release \([0-9]*\.[0-9]*\).*/\1/p')
        if [ -z "$release" ] || [ "$(printf '%s\n' 11.8 "$release" | sort -V | head -n 1)" != 11.8 ]; then
            continue
        elif [ "${release%.*}" -gt "${serves:-${release%.*}}" ]; then
            say "$candidate is of CUDA $release, and the driver serves $serves: passed over"
        else
            readlink -f "$candidate"
            return
        fi
    done
}

# Whether the toolkit can compile for this capability, "90".
knows() {
    [ -n "$1" ] && "$nvcc" --list-gpu-arch 2> /dev/null | grep -qx "compute_$1"
}

# What to compile for: this GPU, where the toolkit knows it; else code of 8.0 that the driver compiles for it. The
# toolkit's question is the first, for nvidia-smi does not look at CUDA_VISIBLE_DEVICES. Beside a broken GPU either may
# hang.
choose_arch() {
    capability=""
    if [ -x "$cuda/bin/__nvcc_device_query" ]; then
        capability=$(limited 30 "$cuda/bin/__nvcc_device_query" 2> /dev/null | tr , '\n' | head -n 1 | tr -dc 0-9)
    fi
    if [ -z "$capability" ]; then
        capability=$(limited 30 nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null | head -n 1 |
            tr -dc 0-9)
    fi
    if [ -n "$rehearsal" ]; then
        echo sm_90
    elif knows "$capability"; then
        echo "sm_$capability"
    else
        echo sm_80
    fi
}

# Folders where CUDA's headers (include) or libraries (lib) may lie: the toolkit, the system, Python's packages.
cuda_folders() {
    machine=$(uname -m)
    if [ "$1" = include ]; then
        printf '%s\n' "$cuda/include" "$cuda/targets/$machine-linux/include" /usr/include
    else
        printf '%s\n' "$cuda/lib64" "$cuda/lib" "$cuda/targets/$machine-linux/lib" "/usr/lib/$machine-linux-gnu"
    fi
    python_folders "$1"
}

# The same folders (bin, include, lib) of NVIDIA's packages for Python.
python_folders() {
    "$python" -c 'import glob, sys
for folder in sys.path:
    print(*glob.glob(f"{folder}/nvidia/*/" + sys.argv[1]), sep="\n")' "$1" 2> /dev/null
}

# The first file of that name, or one of its versions, in those folders; they come on standard input.
first_file() {
    while read -r folder; do
        for file in "$folder/$1" "$folder/$1".[0-9]*; do
            if [ -n "$folder" ] && [ -e "$file" ]; then
                echo "$file"
                return
            fi
        done
    done
}

# Kernels for this GPU only, which is quick.
build_kernels() {
    limited 200 "$nvcc" -std=c++17 -O3 -arch="$arch" ${CUDAHOSTCXX:+-ccbin="$CUDAHOSTCXX"} -I"$root/src" -I"$root" \
        -Xcompiler=-fPIC,-fvisibility=hidden,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics \
        -c "$root/gpu/cuda/kernels.cu" -o "$build/alone/kernels.o" > "$build/kernels.log" 2>&1 && return
    cat "$build/kernels.log" >&2
    newest=$(sed -n 's/.*gcc versions later than \([0-9]*\) are not supported.*/\1/p' "$build/kernels.log" | head -n 1)
    if [ -n "$newest" ]; then say "$nvcc takes no g++ after $newest: set CUDAHOSTCXX=g++-$newest, or older"; fi
    return 2
}

# The module and the driver, with nothing but nvcc and cc.
build_alone() {
    flags="-O3 -fPIC -fvisibility=hidden -ffp-contract=off -fopenmp"
    flags="$flags -I$root/src -I$root -I$headers -I$blas_headers"
    link="-fopenmp -Wl,--enable-new-dtags -Wl,-rpath,$libraries -Wl,-rpath,$blas_libraries"
    link="$link $cudart $cublaslt -ldl -lpthread -lm"
    objects="" core=""
    mkdir -p "$build/alone" || return 2
    build_kernels &
    kernels=$!
    for source in "$root"/gpu/cuda/*.c "$root"/gpu/generate.c "$root"/gpu/threads.c "$root"/src/core/status.c \
        "$root"/src/core/error.c "$root"/src/core/clock.c "$root"/src/core/cpus.c \
        "$root"/src/core/field.c "$root"/src/core/cgroups.c "$root"/src/core/ranges.c "$root"/src/core/system_file.c \
        "$root"/src/core/utf8.c; do
        object=$build/alone/$(basename "$source" .c).o
        # shellcheck disable=SC2086 # flags are words
        if ! "${CC:-cc}" -std=c17 -D_POSIX_C_SOURCE=200809L $flags -c "$source" -o "$object"; then
            wait "$kernels" # or it would go on beside what is measured
            return 2
        fi
        case $source in
        */src/core/*) core="$core $object" ;;
        *) objects="$objects $object" ;;
        esac
    done
    wait "$kernels" || return 2
    # shellcheck disable=SC2086
    "${CC:-cc}" -shared -o "$build/alone/gpulot-cuda.so" $objects $core "$build/alone/kernels.o" \
        -Wl,--version-script="$root/gpu/cuda/cuda.map" $link || return 2
    # shellcheck disable=SC2086
    "${CC:-cc}" -std=c17 $flags "$root"/tests/cuda/gpu_driver/*.c $core "$build/alone/kernels.o" \
        -o "$build/alone/gpu_driver" $link || return 2
    driver=$build/alone/gpu_driver
    module=$build/alone/gpulot-cuda.so
}

# The same out of a build that is handed over.
take_alone() {
    if [ -n "${GPU_CHECK_WHOLE:-}" ] && [ -x "$GPU_CHECK_WHOLE/tests/gpu_driver" ]; then
        driver=$GPU_CHECK_WHOLE/tests/gpu_driver
        module=$GPU_CHECK_WHOLE/lib/gpulot/gpulot-cuda.so
    fi
}

# The toolkit: nvcc (empty where there is none), its folder cuda, and the folders of what is compiled and linked with.
# Returns 2 where there is an nvcc and not all that it needs, or no nvcc and no build that was handed over.
find_toolkit() {
    nvcc=$(find_nvcc)
    if [ -z "$nvcc" ] && [ -z "${GPU_CHECK_WHOLE:-}" ]; then
        say "there is no nvcc of CUDA 11.8 or newer that the driver serves: set CUDA_HOME to the toolkit's folder"
        return 2
    fi
    cuda=/usr
    if [ -n "$nvcc" ]; then cuda=$(cd "$(dirname "$nvcc")/.." && pwd); fi
    headers=$(cuda_folders include | first_file cuda_runtime_api.h)
    blas_headers=$(cuda_folders include | first_file cublasLt.h)
    cudart=$(cuda_folders lib | first_file libcudart.so)
    cublaslt=$(cuda_folders lib | first_file libcublasLt.so)
    for needed in cuda_runtime_api.h:"$headers" cublasLt.h:"$blas_headers" libcudart.so:"$cudart" \
        libcublasLt.so:"$cublaslt"; do
        if [ -n "$nvcc" ] && [ -z "${needed#*:}" ]; then
            say "neither beside $nvcc nor elsewhere is there ${needed%%:*}"
            return 2
        fi
    done
    headers=$(dirname "$headers") blas_headers=$(dirname "$blas_headers") libraries=$(dirname "$cudart")
    blas_libraries=$(dirname "$cublaslt")
}
