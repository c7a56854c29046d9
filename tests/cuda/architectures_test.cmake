# Which GPUs the kernels are built for, by what `nvcc --list-gpu-arch` prints: cmake -P with SOURCE.
include(${SOURCE}/gpu/cuda/architectures.cmake)

function(expect listed wanted)
  string(REPLACE " " "\n" lines "${listed}")
  gpulot_cuda_architectures(chosen "${lines}")
  if(NOT chosen STREQUAL wanted)
    message(FATAL_ERROR "for ${listed}: ${chosen} instead of ${wanted}")
  endif()
endfunction()

# CUDA 11.8, 12.0 to 12.7, 12.8, 12.9, 13.0; the last line with and without a line's end; a number within another.
expect("compute_35 compute_50 compute_75 compute_80 compute_86 compute_87 compute_89 compute_90"
       "80-virtual;75-real;80-real;86-real;89-real;90-real")
expect("compute_50 compute_60 compute_70 compute_75 compute_80 compute_86 compute_87 compute_89 compute_90 "
       "80-virtual;75-real;80-real;86-real;89-real;90-real")
expect("compute_75 compute_80 compute_86 compute_89 compute_90 compute_100 compute_101 compute_120"
       "80-virtual;75-real;80-real;86-real;89-real;90-real;100-real;120-real")
expect("compute_75 compute_80 compute_86 compute_89 compute_90 compute_100 compute_101 compute_103 compute_120 compute_121"
       "80-virtual;75-real;80-real;86-real;89-real;90-real;100-real;103-real;120-real")
expect("compute_80 compute_860 compute_1030 compute_110" "80-virtual;80-real")
