# gpulot_cuda_architectures(OUT LISTED): machine code for each GPU of the list that the toolkit knows, and PTX of 8.0, so
# that every later GPU is served too. LISTED is what `nvcc --list-gpu-arch` prints.
function(gpulot_cuda_architectures out listed)
  set(chosen 80-virtual)
  string(REGEX MATCHALL "compute_[0-9]+" known "${listed}")
  foreach(arch 75 80 86 89 90 100 103 120)
    list(FIND known compute_${arch} at)
    if(NOT at EQUAL -1)
      list(APPEND chosen ${arch}-real)
    endif()
  endforeach()
  set(${out} ${chosen} PARENT_SCOPE)
endfunction()
