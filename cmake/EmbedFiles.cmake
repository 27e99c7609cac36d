# pc_embed_files(variable function prefix files...): a source file, named by the variable, whose
# function gives the files' bytes and names, behind the prefix (tools/serve/http/embedded_file.h). Made at
# build time by CMake itself, which runs this file as a script, so that a cross build needs no
# program of its own; anew when one of the files changes.
function(pc_embed_files variable function prefix)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${function}.cc)
  list(JOIN ARGN "|" files)  # a list would be cut at its semicolons
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -D SOURCE=${source} -D FUNCTION=${function} -D PREFIX=${prefix}
            -D FILES=${files} -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    DEPENDS ${ARGN} ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    COMMENT "Embedding ${function}" VERBATIM)
  set(${variable} ${source} PARENT_SCOPE)
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

set(arrays "")
set(entries "")
set(n 0)
string(REPLACE "|" ";" files "${FILES}")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "constexpr unsigned char kFile${n}[] = {${bytes}};\n")
  string(APPEND entries "      {\"${PREFIX}${name}\", kFile${n}, sizeof kFile${n}},\n")
  math(EXPR n "${n} + 1")
endforeach()
file(WRITE ${SOURCE} "// Made by cmake/EmbedFiles.cmake.
#include \"tools/serve/http/embedded_file.h\"

namespace pc::serve {
namespace {

${arrays}
}  // namespace

std::vector<EmbeddedFile> ${FUNCTION}() {
  return {
${entries}  };
}

}  // namespace pc::serve
")
