# Run by CPack over the folder that it is about to pack. A .deb has its own list of digests and no place at its top for
# ours.
if(NOT CPACK_GENERATOR STREQUAL "TGZ")
  return()
endif()
execute_process(COMMAND ${CPACK_TEMPORARY_DIRECTORY}/bin/gpulot manifest create ${CPACK_TEMPORARY_DIRECTORY}
                RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "no manifest for the release archive: gpulot ended with ${status}")
endif()
