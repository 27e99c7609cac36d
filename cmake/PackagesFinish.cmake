# CPack runs this between gathering files and packing them, once for all components: what
# Debian wants in a package, and nobody in /usr/local.
foreach(component library development command)
  string(TOUPPER ${component} upper)
  set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr/share)
  configure_file(${CPACK_RESOURCE_FILE_LICENSE}
                 ${share}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}/copyright COPYONLY)
  file(GLOB pages ${share}/man/man1/*.1)
  if(pages)
    execute_process(COMMAND gzip -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
