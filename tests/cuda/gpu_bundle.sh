#!/bin/sh
# Makes a folder of a build of the whole program, for tests/cuda/gpu_check.sh on a machine where it cannot be built:
#
#     tests/cuda/gpu_bundle.sh BUILD_FOLDER BUNDLE
#     GPU_CHECK_WHOLE=BUNDLE tests/cuda/gpu_check.sh        # there
#
# The program, its CUDA module, that module's tests, gpu_driver, and the libraries that they need, but for the C
# library's own and CUDA's, which the other machine brings: one of the same processor and no older C library. Without a
# launcher nothing of MPI is needed, and nothing of the host device.
set -eu

if [ $# -ne 2 ] || [ ! -x "$1/gpulot" ]; then
    echo "usage: gpu_bundle.sh BUILD_FOLDER BUNDLE: the first holds gpulot" >&2
    exit 2
fi
build=$1
bundle=$2
mkdir -p "$bundle/lib/gpulot" "$bundle/libs" "$bundle/tests"
cp "$build/gpulot" "$bundle/"
cp "$build/lib/gpulot/gpulot-cuda.so" "$bundle/lib/gpulot/"
cp "$build/tests/cuda_module_test" "$build/tests/gpu_driver" "$bundle/tests/"
for file in "$bundle/gpulot" "$bundle/lib/gpulot/gpulot-cuda.so" "$bundle"/tests/*; do
    ldd "$file" | awk '$2 == "=>" && $3 ~ "^/" { print $1, $3 }'
done | sort -u | while read -r name path; do
    case $name in
    libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | libresolv.so.*) ;;
    libcudart.so.* | libcublasLt.so.* | libcuda.so.* | libnvidia-ml.so.*) ;;
    *) cp "$path" "$bundle/libs/$name" ;;
    esac
done
strip --strip-unneeded "$bundle"/gpulot "$bundle"/lib/gpulot/*.so "$bundle"/tests/* "$bundle"/libs/* 2> /dev/null ||
    echo "gpu_bundle.sh: not stripped" >&2
du -sh "$bundle"
