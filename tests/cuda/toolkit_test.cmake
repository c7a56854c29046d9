# Which nvcc is taken, and the one line that says why none is: cmake -P with SOURCE and SCRATCH. The compilers are
# scripts that say what nvcc says.
include(${SOURCE}/gpu/cuda/toolkit.cmake)
file(REMOVE_RECURSE ${SCRATCH})

# A compiler of that release, which ends with STATUS and says SAID when it is to compile.
function(make_nvcc folder release status said)
  file(WRITE ${folder}/nvcc "#!/bin/sh
if [ \"$1\" = --version ]; then echo 'Cuda compilation tools, release ${release}, V${release}.1'; exit 0; fi
echo \"$@\" > ${folder}/arguments
cat >&2 <<'END'
${said}
END
exit ${status}
")
  file(CHMOD ${folder}/nvcc PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

# gpulot_find_nvcc over compilers in the named folders of SCRATCH: the folder that is chosen, and the reason.
function(expect chosen reason)
  set(candidates "")
  foreach(name IN LISTS ARGN)
    list(APPEND candidates ${SCRATCH}/${name}/nvcc)
  endforeach()
  gpulot_find_nvcc(found said ${SCRATCH}/try ${candidates})
  string(REPLACE "${SCRATCH}/" "" found "${found}")
  if(NOT found STREQUAL chosen OR (NOT reason STREQUAL "" AND NOT said MATCHES "${reason}"))
    message(FATAL_ERROR "of ${ARGN}: '${found}' because '${said}' instead of '${chosen}' because '${reason}'")
  endif()
endfunction()

function(expect_equal what got wanted)
  if(NOT got STREQUAL wanted)
    message(FATAL_ERROR "${what}: '${got}' instead of '${wanted}'")
  endif()
endfunction()

# As CUDA 11.8 says it on Debian 12, and what a compiler without the runtime's link name says.
make_nvcc(${SCRATCH}/new_gcc 11.8 1 "In file included from /usr/include/cuda_runtime.h:83,
                 from <command-line>:
/usr/include/crt/host_config.h:132:2: error: #error -- unsupported GNU version! gcc versions later than 11 are not supported! The nvcc flag '-allow-unsupported-compiler' can be used to override this version check.
  132 | #error -- unsupported GNU version!")
make_nvcc(${SCRATCH}/no_runtime 13.0 1 "/usr/bin/ld: cannot find -lcudart: No such file or directory
collect2: error: ld returned 1 exit status")
make_nvcc(${SCRATCH}/good 12.4 0 "a warning")
make_nvcc(${SCRATCH}/old 11.5 0 "")
file(MAKE_DIRECTORY ${SCRATCH}/broken)
file(WRITE ${SCRATCH}/broken/nvcc "not a program")

expect("good/nvcc" "" good)
expect("good/nvcc" "" new_gcc good)
expect("good/nvcc" "" old broken good)
expect("" "new_gcc/nvcc of CUDA 11.8: it takes no g\\+\\+ after 11: set CMAKE_CUDA_HOST_COMPILER to g\\+\\+-11 or older$" new_gcc old)
expect("" "cannot find -lcudart: No such file or directory$" no_runtime)
expect("" "old/nvcc is of CUDA 11.5; 11.8 or newer is needed$" old)
expect("" "broken/nvcc does not run$" broken)
expect("" "^no nvcc was found; put it on PATH, or set CUDA_HOME or CMAKE_CUDA_COMPILER$")

# What is compiled with: the host compiler and the flags that the build itself will use.
set(CMAKE_CUDA_FLAGS "-allow-unsupported-compiler -O1")
set(CMAKE_CUDA_HOST_COMPILER /usr/bin/g++-11)
expect("good/nvcc" "" good)
file(READ ${SCRATCH}/good/arguments arguments)
if(NOT arguments MATCHES "^-allow-unsupported-compiler -O1 -ccbin=/usr/bin/g\\+\\+-11 ")
  message(FATAL_ERROR "compiled with ${arguments}")
endif()

# Candidates: what the user named and nothing else; or PATH, the variables, installed versions with the newest first.
foreach(name path/a home/bin root/cuda-12.4/bin root/cuda-9.0/bin root/cuda-12.10/bin)
  make_nvcc(${SCRATCH}/${name} 12.4 0 "")
endforeach()
set(ENV{PATH} "relative:${SCRATCH}/nothing:${SCRATCH}/path/a:${SCRATCH}/path/a")
set(ENV{CUDA_HOME} ${SCRATCH}/home)
set(ENV{CUDA_PATH} "")
set(ENV{CUDACXX} "")
gpulot_toolkit_folders(folders ${SCRATCH}/root)
gpulot_nvcc_candidates(candidates ${folders})
string(REPLACE "${SCRATCH}/" "" candidates "${candidates}")
list(FILTER candidates EXCLUDE REGEX "^/opt/")
expect_equal(candidates "${candidates}"
  "path/a/nvcc;home/bin/nvcc;root/cuda-12.10/bin/nvcc;root/cuda-12.4/bin/nvcc;root/cuda-9.0/bin/nvcc")
set(ENV{CUDACXX} /some/nvcc)
gpulot_nvcc_candidates(candidates ${folders})
expect_equal(CUDACXX "${candidates}" /some/nvcc)
set(CMAKE_CUDA_COMPILER /other/nvcc)
gpulot_nvcc_candidates(candidates ${folders})
expect_equal(CMAKE_CUDA_COMPILER "${candidates}" /other/nvcc)

# AUTO goes on with a line; ON ends.
set(GPULOT_CUDA AUTO)
gpulot_no_cuda("a reason")
file(WRITE ${SCRATCH}/on.cmake "include(${SOURCE}/gpu/cuda/toolkit.cmake)\nset(GPULOT_CUDA ON)\ngpulot_no_cuda(\"a reason\")\n")
execute_process(COMMAND ${CMAKE_COMMAND} -P ${SCRATCH}/on.cmake RESULT_VARIABLE status ERROR_VARIABLE said)
if(status EQUAL 0 OR NOT said MATCHES "GPULOT_CUDA=ON: a reason")
  message(FATAL_ERROR "GPULOT_CUDA=ON ends with ${status} and says ${said}")
endif()
