# pc_library(name sources...): the folder's static library pc_<name>, with the
# project's include root and warnings. Everything ends in one shared library.
function(pc_library name)
  add_library(pc_${name} STATIC ${ARGN})
  pc_options(pc_${name})
endfunction()

# pc_options(target): language level, visibility, warnings, sanitizers.
function(pc_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                              $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
                         $<$<BOOL:${PC_WERROR}>:-Werror>)
  if(PC_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${PC_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${PC_SANITIZE})
  endif()
endfunction()

# pc_test(name sources... [LIBS libraries...]): one Catch2 program, one ctest entry.
# Data beside the repository (../shared) is passed by environment; a test that
# needs it and does not find it says so and is skipped.
function(pc_test name)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  pc_options(${name})
  target_link_libraries(${name} PRIVATE pc_test_main ${ARG_LIBS})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 ENVIRONMENT
    "PC_SHARED_DIR=${PROJECT_SOURCE_DIR}/../shared;PC_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
endfunction()
