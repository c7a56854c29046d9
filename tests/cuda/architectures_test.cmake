# Which GPUs the kernels are built for, by what `nvcc --list-gpu-arch` prints: cmake -P with SOURCE.
include(${SOURCE}/gpu/cuda/architectures.cmake)

function(expect listed wanted)
  string(REPLACE " " "\n" lines "${listed}")
  gpulot_cuda_architectures(chosen "${lines}")
  if(NOT chosen STREQUAL wanted)
    message(FATAL_ERROR "for ${listed}: ${chosen} instead of ${wanted}")
  endif()
endfunction()

# As printed by CUDA 11.8, 12.4, 13.0 and 13.5; then 12.8 and 12.9 by their documentation.
set(hopper "80-virtual;75-real;80-real;86-real;89-real;90-real")
set(old "compute_50 compute_52 compute_53 compute_60 compute_61 compute_62 compute_70 compute_72 compute_75 compute_80")
expect("compute_35 compute_37 ${old} compute_86 compute_87 compute_89 compute_90" "${hopper}")
expect("${old} compute_86 compute_87 compute_89 compute_90" "${hopper}")
set(new "compute_75 compute_80 compute_86 compute_87 compute_88 compute_89 compute_90 compute_100 compute_110 compute_103")
expect("${new} compute_120 compute_121" "${hopper};100-real;103-real;120-real")
expect("${new} compute_120 compute_121 compute_107" "${hopper};100-real;103-real;120-real")
expect("compute_75 compute_80 compute_86 compute_89 compute_90 compute_100 compute_101 compute_120"
       "${hopper};100-real;120-real")
expect("compute_75 compute_80 compute_86 compute_89 compute_90 compute_100 compute_101 compute_103 compute_120 compute_121"
       "${hopper};100-real;103-real;120-real")
# The last line with its end; a number within another.
expect("compute_80 compute_90 " "80-virtual;80-real;90-real")
expect("compute_80 compute_860 compute_1030 compute_110" "80-virtual;80-real")
