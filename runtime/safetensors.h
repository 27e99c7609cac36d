// The safetensors format, read in place from untrusted bytes:
//
//   u64 header length | header (JSON) | tensors, back to back to the file's end
//
// The layout has no freedom: every byte of the data belongs to exactly one
// tensor, a tensor's length follows from its type and shape, no name occurs
// twice. What is not so is refused (kCorrupt). Limits (kUnsupported): header
// 16 MiB, 65,536 tensors a file, 8 dimensions, 1,024 shards.
//
// A TensorView borrows from the bytes it was parsed from. A Checkpoint owns
// the mappings of its files; moving it keeps its views valid. Only headers are
// read here; weights are paged in by whoever uses them.
// Threads: values, thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/status.h"

namespace pc {

struct TensorView {
  std::string_view dtype;            // as the format spells it: "BF16"; static storage
  std::vector<std::uint64_t> shape;  // row-major; {} is a scalar
  std::span<const std::byte> bytes;  // may lie at any address: see is_aligned in tensor_binder.cc
  std::string file;                  // for messages
};

// By name, hence in the order in which digests are taken.
using TensorMap = std::map<std::string, TensorView, std::less<>>;

// "[64, 32]"
std::string shape_text(std::span<const std::uint64_t> shape);

// All tensors of one file. `name` is for messages.
Result<TensorMap> parse_safetensors(std::span<const std::byte> file, const std::string& name);

// The index's map from tensor to shard. Shards are plain file names.
Result<std::map<std::string, std::string>> parse_safetensors_index(std::string_view text,
                                                                   const std::string& name);

struct Checkpoint {
  std::vector<MappedFile> files;
  TensorMap tensors;
};

// Finds the weights of a folder: model.safetensors, else the shards of
// model.safetensors.index.json, else the only *.safetensors there.
// Errors: kNotFound, kIo, and those of the parsers.
Result<Checkpoint> open_checkpoint(const std::string& folder);

}  // namespace pc
