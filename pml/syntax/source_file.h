// Reads the text files that a schema names with src=, from one folder only.
//
// The returned function owns its folder's name. Threads: any.
#pragma once

#include <cstddef>
#include <string>

#include "pml/syntax/schema_parser.h"  // ReadFileFn

namespace pc::pml {

inline constexpr std::size_t kMaxSourceFileBytes = std::size_t{4} << 20;

// Refuses absolute paths, "..", links that lead out of base_dir, anything but
// a regular file, and files over kMaxSourceFileBytes.
ReadFileFn file_reader(std::string base_dir);

}  // namespace pc::pml
