// The tensors of a model's files, by name, as they lie in their mappings.
//
// A TensorView borrows from the bytes it was parsed from. A Checkpoint owns
// the mappings of its files; moving it keeps its views valid. Threads: values,
// thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"

namespace pc {

struct TensorView {
  std::string_view dtype;            // as the format spells it: "BF16", "Q4_K"; static storage
  std::vector<std::uint64_t> shape;  // row-major, slowest first; {} is a scalar
  std::span<const std::byte> bytes;  // may lie at any address: see is_aligned in tensor_binder.cc
  std::string file;                  // for messages
};

// Tensors by name. Digests are taken in the order of names, too.
using TensorMap = std::map<std::string, TensorView, std::less<>>;

// "[64, 32]"
std::string shape_text(std::span<const std::uint64_t> shape);

struct Checkpoint {
  std::vector<MappedFile> files;
  TensorMap tensors;
};

}  // namespace pc
