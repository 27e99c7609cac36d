// Files that the binary carries: what cmake/EmbedFiles.cmake writes down.
//
// A view of bytes that live as long as the process. Threads: any.
#pragma once

#include <cstddef>
#include <vector>

namespace pc::serve {

struct EmbeddedFile {
  const char* name;  // "/playground/chat.js"
  const unsigned char* bytes;
  std::size_t n_bytes;  // at least one
};

// Those of tools/serve/playground/.
std::vector<EmbeddedFile> playground_files();
// What the routes take and answer: tools/serve/openapi.json alone.
std::vector<EmbeddedFile> description_files();

}  // namespace pc::serve
