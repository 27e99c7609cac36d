# PC_STATIC: libpromptcache.a, for programs that are to have the library inside of them. One
# object that has all of ours and exports, as the shared library does, the C API alone: what a
# program, or another library in it, names as we do, is not ours. Third-party libraries stay
# libraries; the two ways to find the archive (pkg-config's promptcache-static, and the
# component `static` of the CMake package) bring them.
set(PC_ARCHIVE ${PROJECT_BINARY_DIR}/libpromptcache.a)
set(PC_ARCHIVE_OBJECT ${PROJECT_BINARY_DIR}/promptcache.o)
set(objects)
foreach(target pc_api pc_base pc_calls pc_compute pc_constrain pc_json pc_modules pc_pml pc_runtime pc_simd pc_step)
  list(APPEND objects $<TARGET_OBJECTS:${target}>)
endforeach()
add_custom_command(OUTPUT ${PC_ARCHIVE}
  # Groups are resolved here: they would be ours and the program's under one name.
  COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${PC_ARCHIVE_OBJECT} ${objects}
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=pc_* ${PC_ARCHIVE_OBJECT}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${PC_ARCHIVE}
  COMMAND ${CMAKE_AR} rcs ${PC_ARCHIVE} ${PC_ARCHIVE_OBJECT}
  BYPRODUCTS ${PC_ARCHIVE_OBJECT}
  DEPENDS ${objects} COMMENT "Merging libpromptcache.a" COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(promptcache_static ALL DEPENDS ${PC_ARCHIVE})
install(FILES ${PC_ARCHIVE} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT static)

set(PC_STATIC_LIBS stdc++ m ${CMAKE_DL_LIBS} ${OpenMP_CXX_LIB_NAMES} pthread)
if(PC_WITH_ONEDNN)
  list(PREPEND PC_STATIC_LIBS dnnl)
endif()
list(REMOVE_DUPLICATES PC_STATIC_LIBS)
list(TRANSFORM PC_STATIC_LIBS PREPEND -l)
list(JOIN PC_STATIC_LIBS " " PC_STATIC_LIBS)
set(PC_STATIC_MODULES "expat libcrypto libxxhash sentencepiece libpcre2-8 libutf8proc libhwy")

foreach(file promptcacheStatic.cmake promptcache-static.pc)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${file}.in ${PROJECT_BINARY_DIR}/${file} @ONLY)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/promptcacheStatic.cmake
        DESTINATION ${PC_CMAKE_DIR} COMPONENT static)
install(FILES ${PROJECT_BINARY_DIR}/promptcache-static.pc
        DESTINATION ${PC_PKGCONFIG_DIR} COMPONENT static)
