# What `cmake --install` leaves behind: the header, the shared library, the command,
# how CMake and pkg-config find them, and what there is to read. All paths are relative, so that the
# prefix can be moved. The components are those that Debian has packages for
# (cmake/Packages.cmake): library, development, command; and static.
include(CMakePackageConfigHelpers)

set(PC_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/promptcache)
set(PC_PKGCONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(TARGETS promptcache EXPORT promptcacheTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
                NAMELINK_COMPONENT development
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/promptcache DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT development)
install(EXPORT promptcacheTargets NAMESPACE promptcache:: DESTINATION ${PC_CMAKE_DIR}
        COMPONENT development)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/promptcacheConfig.cmake.in
  ${PROJECT_BINARY_DIR}/promptcacheConfig.cmake INSTALL_DESTINATION ${PC_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/promptcacheConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/promptcacheConfig.cmake
              ${PROJECT_BINARY_DIR}/promptcacheConfigVersion.cmake DESTINATION ${PC_CMAKE_DIR}
        COMPONENT development)

file(RELATIVE_PATH PC_PREFIX_FROM_PKGCONFIG /prefix/${PC_PKGCONFIG_DIR} /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/promptcache.pc.in ${PROJECT_BINARY_DIR}/promptcache.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/promptcache.pc
        DESTINATION ${PC_PKGCONFIG_DIR} COMPONENT development)
if(PC_STATIC)
  include(StaticLibrary)
endif()

if(PC_BUILD_TOOLS)  # the command finds its library beside it, wherever the prefix goes
  file(RELATIVE_PATH PC_LIB_FROM_BIN /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})
  set_target_properties(promptcache_command PROPERTIES INSTALL_RPATH "$ORIGIN/${PC_LIB_FROM_BIN}")
endif()
if(PROJECT_IS_TOP_LEVEL)
  # The documentation and the examples, which are a CMake project of their own, beside each other as
  # in the source tree, so that links between pages hold. In another project's build there are none:
  # CMAKE_INSTALL_DOCDIR is that project's.
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/SECURITY.md
                ${PROJECT_SOURCE_DIR}/CHANGELOG.md
          DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples
          DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command
          USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE)
  include(Packages)
endif()
