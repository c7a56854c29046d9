#!/bin/sh
# call_log.sh LOG PROGRAM: the call log holds one line per call, in order, with time, rank, thread and name.
set -e
rm -f "$1"
"$2" logged
sed 's/^[0-9]*\.[0-9]\{9\} rank -1 thread [0-9]* //' "$1" >"$1.names"
printf '%s\n' cudaMalloc cudaMemset cudaLaunchKernel cudaStreamSynchronize | diff - "$1.names"
