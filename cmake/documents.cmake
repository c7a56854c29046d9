# The man page is made from the program's own --help; the completion asks the program when it is used.
set(man_page ${CMAKE_BINARY_DIR}/gpulot.1)
add_custom_command(
  OUTPUT ${man_page}
  COMMAND ${CMAKE_SOURCE_DIR}/docs/make-man.sh $<TARGET_FILE:gpulot> ${CMAKE_SOURCE_DIR}/docs/gpulot.1.in > ${man_page}
  DEPENDS gpulot ${CMAKE_SOURCE_DIR}/docs/make-man.sh ${CMAKE_SOURCE_DIR}/docs/gpulot.1.in
  COMMENT "Making the man page")
add_custom_target(man ALL DEPENDS ${man_page})

file(GLOB documents ${CMAKE_SOURCE_DIR}/docs/*.md)
install(FILES ${man_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES docs/gpulot.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME gpulot)
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE.txt DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY docs/measurements DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY slurm data DESTINATION ${CMAKE_INSTALL_DATADIR}/gpulot USE_SOURCE_PERMISSIONS
        PATTERN "*.py" EXCLUDE)

# The documents link to one another as they lie in the source folder: data and slurm beside README, docs beside data.
function(lot_install_link folder full_folder name target)
  file(RELATIVE_PATH path ${full_folder} ${target})
  if(NOT IS_ABSOLUTE ${folder})
    set(folder "\${CMAKE_INSTALL_PREFIX}/${folder}")
  endif()
  install(CODE "file(CREATE_LINK ${path} \"\$ENV{DESTDIR}${folder}/${name}\" SYMBOLIC)")
endfunction()

foreach(name data slurm)
  lot_install_link(${CMAKE_INSTALL_DOCDIR} ${CMAKE_INSTALL_FULL_DOCDIR} ${name} ${CMAKE_INSTALL_FULL_DATADIR}/gpulot/${name})
endforeach()
lot_install_link(${CMAKE_INSTALL_DATADIR}/gpulot ${CMAKE_INSTALL_FULL_DATADIR}/gpulot docs ${CMAKE_INSTALL_FULL_DOCDIR}/docs)
