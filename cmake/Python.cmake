# The Python package's own files, where pip builds it (pyproject.toml): the tables of the C API, out of
# its header, the library beside them, and the command, which serves each replica of a fleet.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(PC_C_API_TABLES ${PROJECT_BINARY_DIR}/python/_c_api.py)
add_custom_command(OUTPUT ${PC_C_API_TABLES}
  COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/python/make_bindings.py
          ${PROJECT_SOURCE_DIR}/include/promptcache/promptcache.h ${PC_C_API_TABLES}
  DEPENDS ${PROJECT_SOURCE_DIR}/python/make_bindings.py ${PROJECT_SOURCE_DIR}/include/promptcache/promptcache.h
  COMMENT "Describing the C API to Python" VERBATIM)
add_custom_target(promptcache_python ALL DEPENDS ${PC_C_API_TABLES})

set_property(TARGET promptcache PROPERTY VERSION)  # a wheel has no links: one file, named by the SONAME
install(FILES ${PC_C_API_TABLES} DESTINATION promptcache COMPONENT python)
install(TARGETS promptcache LIBRARY DESTINATION promptcache/lib COMPONENT python NAMELINK_SKIP)
if(PC_BUILD_TOOLS)
  set_target_properties(promptcache_command PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  install(TARGETS promptcache_command RUNTIME DESTINATION promptcache/bin COMPONENT python)
endif()
