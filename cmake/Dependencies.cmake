# Every third-party package of the project, found once.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(EXPAT REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(SENTENCEPIECE REQUIRED IMPORTED_TARGET sentencepiece)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8>=10.40)  # \p{White_Space}
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
if(PC_WITH_OPENMP)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
endif()
if(PC_WITH_ONEDNN)
  # Found by its files: the CMake config of Debian's 2.6 asks for OpenCL's headers,
  # which the CPU engine does not need. 2.6 and 3.x serve alike.
  find_path(PC_ONEDNN_INCLUDE dnnl.hpp REQUIRED)
  find_library(PC_ONEDNN_LIBRARY dnnl REQUIRED)
  add_library(pc_onednn INTERFACE)
  target_include_directories(pc_onednn SYSTEM INTERFACE ${PC_ONEDNN_INCLUDE})
  target_link_libraries(pc_onednn INTERFACE ${PC_ONEDNN_LIBRARY})
endif()
if(PC_BUILD_TOOLS)
  find_package(CLI11 REQUIRED)
endif()
if(PC_BUILD_TESTS)
  find_package(Catch2 REQUIRED)       # 2.13
endif()
