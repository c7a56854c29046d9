# Finds oneDNN as DNNL_LIBRARY and DNNL_INCLUDE_DIR, and refuses one before 2.2: its results differ with the number of
# threads. By the header, since not every distribution's package has files for CMake.
find_library(DNNL_LIBRARY NAMES dnnl REQUIRED)
find_path(DNNL_INCLUDE_DIR NAMES oneapi/dnnl/dnnl_version.h REQUIRED)

file(STRINGS ${DNNL_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h lines REGEX "define DNNL_VERSION_(MAJOR|MINOR) ")
string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
list(JOIN numbers "." DNNL_VERSION)
if(NOT DNNL_VERSION VERSION_GREATER_EQUAL 2.2)
  message(FATAL_ERROR "oneDNN in ${DNNL_INCLUDE_DIR} is of version ${DNNL_VERSION}; 2.2 or newer is needed")
endif()
