# pc_library(name [ROOMS] sources...): the folder's static library pc_<name>. Everything
# ends in one shared library, so none of these is installed. With ROOMS it may be compiled a room at a time.
function(pc_library name)
  cmake_parse_arguments(ARG "ROOMS" "" "" ${ARGN})
  set(sources ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_ROOMS)
    pc_rooms(sources ${name} ${sources})
  endif()
  add_library(pc_${name} STATIC ${sources})
  pc_options(pc_${name})
endfunction()

# pc_rooms(variable name sources...): the sources or, with PC_UNITY, one for each of their folders, which
# includes its files: headers are read, and templates made, once a room. By themselves stay
# those with SKIP_UNITY_BUILD_INCLUSION: another file of the room has a name of theirs for something
# else, or a class of theirs has members of the file's own types. Paths start at the root, so that ccache knows the same room in another clone.
function(pc_rooms variable name)
  set(sources "")
  set(rooms "")
  foreach(source ${ARGN})
    get_source_file_property(apart ${source} SKIP_UNITY_BUILD_INCLUSION)
    get_filename_component(path ${source} ABSOLUTE)
    file(RELATIVE_PATH made ${PROJECT_BINARY_DIR} ${path})
    if(NOT PC_UNITY OR apart OR NOT made MATCHES "^\\.\\./")
      list(APPEND sources ${source})
      continue()
    endif()
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${path})
    get_filename_component(room ${path} DIRECTORY)
    list(APPEND rooms ${room})
    string(APPEND in_${room} "#include \"${path}\"\n")
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  foreach(room ${rooms})
    string(REPLACE "/" "_" file ${room})
    set(file ${CMAKE_CURRENT_BINARY_DIR}/rooms/${name}/${file}.cc)
    file(CONFIGURE OUTPUT ${file} CONTENT "${in_${room}}" @ONLY)
    list(APPEND sources ${file})
  endforeach()
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# pc_options(target): language level, include root, visibility, warnings,
# sanitizers. Private throughout: each target of the project asks for itself, and
# nothing reaches those who link the installed library.
function(pc_options target)
  target_compile_features(${target} PRIVATE cxx_std_20 c_std_99)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF C_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow
                         $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
                         $<$<BOOL:${PC_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # An inline variable is a weak symbol like others, which libpromptcache.a can keep to itself.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique>)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC 12 takes "literal" + std::string for overlapping memory (its bug 105651).
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
    if(PC_SANITIZE)
      # With the checks between, it loses track of what std::regex's std::function holds.
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
    endif()
  endif()
  if(PC_SANITIZE)
    # Without -fno-sanitize-recover, undefined behaviour is printed and the test passes.
    target_compile_options(${target} PRIVATE -fsanitize=${PC_SANITIZE} -fno-sanitize-recover=all
                           -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${PC_SANITIZE})
  endif()
  if(PC_BUILD_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# 200 programs of a few megabytes each: gold links one in half the time. Not tried across.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=gold PC_HAVE_GOLD)

# pc_test_options(target): how tests, and the owner of their precompiled headers, are compiled.
function(pc_test_options target)
  pc_options(${target})
  # What Catch makes of a test is compiled a quarter faster so, and runs as well.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(PC_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # What GCC 12 inlines of a precompiled header it warns of as if it stood in the test (again bug 105651), and
    # it takes literals that a test compares for shorter ones.
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
  endif()
endfunction()

# pc_test(name sources... [LIBS libraries...]): one Catch2 program, one ctest entry.
function(pc_test name)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  pc_test_options(${name})
  target_link_libraries(${name} PRIVATE pc_test_main ${ARG_LIBS})
  if(PC_PCH)
    target_precompile_headers(${name} REUSE_FROM pc_test_headers)
  endif()
  if(PC_HAVE_GOLD AND NOT PC_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
    target_link_options(${name} PRIVATE -fuse-ld=gold)
  endif()
  if(CMAKE_CROSSCOMPILING_EMULATOR)  # what takes a second takes ten
    target_compile_definitions(${name} PRIVATE PC_EMULATED)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  pc_test_environment(${name})
endfunction()

# pc_fuzz(name sources... [LIBS libraries...]): a program around
# LLVMFuzzerTestOneInput. Plain builds link tests/support/fuzz_main.cc and run it
# over the seeds and mutations of them, so that the target cannot rot; with
# PC_BUILD_FUZZ (clang) it is a libFuzzer program that ctest runs for a minute, within
# the limits of tests/fuzz/run.py. Seeds: tests/fuzz/corpus/<name>/. The target
# fuzz_targets builds all of them and nothing else.
function(pc_fuzz name)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  set(seeds ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  pc_options(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS})
  if(NOT TARGET fuzz_targets)
    add_custom_target(fuzz_targets)
  endif()
  add_dependencies(fuzz_targets ${name})
  if(PC_BUILD_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/fuzz/run.py
             $<TARGET_FILE:${name}> ${CMAKE_CURRENT_BINARY_DIR}/${name}.found ${seeds})
  else()
    if(NOT TARGET pc_fuzz_main)
      add_library(pc_fuzz_main OBJECT ${PROJECT_SOURCE_DIR}/tests/support/fuzz_main.cc)
      pc_options(pc_fuzz_main)
    endif()
    target_link_libraries(${name} PRIVATE pc_fuzz_main)
    file(GLOB files CONFIGURE_DEPENDS ${seeds}/*)
    add_test(NAME ${name} COMMAND ${name} ${files})
  endif()
  pc_test_environment(${name})
endfunction()

# pc_long_tests(names...): tests that take minutes and that a change seldom breaks: label long.
# scripts/nightly runs them; scripts/test does not build their programs either.
function(pc_long_tests)
  foreach(name ${ARGN})
    set_property(TEST ${name} APPEND PROPERTY LABELS long)
    if(TARGET ${name} AND NOT PC_BUILD_LONG_TESTS)
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
  endforeach()
endfunction()

# pc_processor_tests(names...): tests whose outcome is the processor's and its compiler's: label
# processor; the target processor_tests builds their programs and nothing else
# (scripts/test-arm64 --processor).
function(pc_processor_tests)
  if(NOT TARGET processor_tests)
    add_custom_target(processor_tests)
  endif()
  foreach(name ${ARGN})
    set_property(TEST ${name} APPEND PROPERTY LABELS processor)
    if(TARGET ${name})
      add_dependencies(processor_tests ${name})
    endif()
  endforeach()
endfunction()

# pc_launcher(variable target): what a test that starts the target itself is to
# start: its file or, in a cross build, a script that hands it to the emulator.
function(pc_launcher variable target)
  set(launcher $<TARGET_FILE:${target}>)
  if(CMAKE_CROSSCOMPILING_EMULATOR)
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
    set(launcher ${CMAKE_CURRENT_BINARY_DIR}/${target}.sh)
    file(GENERATE OUTPUT ${launcher}
      CONTENT "#!/bin/sh\nexec ${emulator} $<TARGET_FILE:${target}> \"$@\"\n"
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  endif()
  set(${variable} ${launcher} PARENT_SCOPE)
endfunction()

# Where a test finds its data. Data beside the repository (../shared) is optional:
# a test that needs it and does not find it says so and is skipped.
function(pc_test_environment name)
  set(timeout 600)
  if(PC_SANITIZE OR CMAKE_CXX_FLAGS MATCHES "--coverage")
    set(timeout 3000)  # five times as slow is usual
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} ENVIRONMENT
    "PC_SHARED_DIR=${PROJECT_SOURCE_DIR}/../shared;PC_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
endfunction()
