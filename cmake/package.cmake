# Release archives: gpulot-VERSION-Linux.tar.gz and a .deb with the libraries that it needs as dependencies.
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_NAME gpulot)
set(CPACK_PACKAGE_VENDOR "gpulot")
set(CPACK_PACKAGE_CONTACT "The gpulot authors <gpulot@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE.txt)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openmpi-bin") # mpirun; under Slurm it is srun
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
# The release archive carries the fingerprints of its files.
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/package_manifest.cmake)
include(CPack)
