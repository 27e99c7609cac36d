// The safetensors format, read in place from untrusted bytes:
//
//   u64 header length | header (JSON) | tensors, back to back to the file's end
//
// The layout has no freedom: every byte of the data belongs to exactly one
// tensor, a tensor's length follows from its type and shape, no name occurs
// twice. What is not so is refused (kCorrupt). Limits (kUnsupported): header
// 16 MiB, 65,536 tensors a file, 8 dimensions, 1,024 shards.
//
// Only headers are read here; weights are paged in by whoever uses them.
// Threads: values, thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/checkpoint/checkpoint.h"

namespace pc {

// All tensors of one file. `name` is for messages.
Result<TensorMap> parse_safetensors(std::span<const std::byte> file, const std::string& name);

// The index's map from tensor to shard. Shards are plain file names.
Result<std::map<std::string, std::string>> parse_safetensors_index(std::string_view text,
                                                                   const std::string& name);

// Opens the weights of a folder: model.safetensors, else the shards of
// model.safetensors.index.json, else the only *.safetensors there.
// Errors: kNotFound, kIo, kMismatch (an index that does not fit its shards), and those
// of the parsers.
Result<Checkpoint> open_safetensors(const std::string& folder);

}  // namespace pc
