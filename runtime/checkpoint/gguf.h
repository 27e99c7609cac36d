// GGUF, version 2 and 3, little-endian, read in place from untrusted bytes:
//
//   "GGUF" | u32 version | u64 n_tensors | u64 n_pairs
//   | pairs: string key, u32 type, value | tensors: string name, u32 n_dims,
//   u64 extents[n_dims] (fastest first), u32 type, u64 offset | padding | data
//
// The layout is checked whole: every string, array and tensor lies inside the
// file, tensors do not overlap, a tensor's length follows from its type and
// shape, no key or name occurs twice. What is not so is refused (kCorrupt);
// versions, byte orders and types that are not known, and what is over a limit,
// are kUnsupported. Limits: 65,536 pairs and tensors, keys and names of 256
// printable ASCII bytes, strings of 1 MiB, arrays of 256 MiB, 3 Mi strings in a
// file, no arrays of arrays, 4 dimensions, alignment a power of two up to 64 KiB,
// 1,024 splits.
//
// Values and tensors are views into the bytes that were parsed. Reading costs
// the header's size alone; weights are paged in by whoever uses them.
// Threads: values, thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/checkpoint/checkpoint.h"  // TensorMap

namespace pc {

// The numbers of the format.
enum class GgufType : std::uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

struct GgufValue {
  GgufType type;  // of the value, or of an array's elements
  bool is_array = false;
  std::uint64_t n = 1;                         // elements
  std::span<const std::byte> bytes;            // numbers: n little-endian elements, unaligned
  std::vector<std::string_view> strings = {};  // kString: the n strings
};

// The key-value pairs of a file. Every getter's error names the file, the key
// and what was wanted; the *_or forms give `absent` where the key is absent, and
// still refuse a value of another type.
class GgufMetadata {
 public:
  const GgufValue* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }

  Result<std::string_view> string(std::string_view key) const;
  // Any integer type, as long as the value is not negative.
  Result<std::uint64_t> integer(std::string_view key) const;
  // Any integer or floating type; finite.
  Result<double> number(std::string_view key) const;
  Result<bool> boolean(std::string_view key) const;

  Result<std::string_view> string_or(std::string_view key, std::string_view absent) const;
  Result<std::uint64_t> integer_or(std::string_view key, std::uint64_t absent) const;
  Result<double> number_or(std::string_view key, double absent) const;
  Result<bool> boolean_or(std::string_view key, bool absent) const;

  Result<std::span<const std::string_view>> strings(std::string_view key) const;
  // Copies, of at most 2 Mi elements. An array of any integer type (booleans count as 0 and 1).
  Result<std::vector<std::int64_t>> integers(std::string_view key) const;
  Result<std::vector<float>> floats(std::string_view key) const;  // an array of f32; finite

  // "FILE: key "llama.block_count": WHAT"
  Error error(Code code, std::string_view key, std::string_view what) const;
  const std::string& file() const { return file_; }
  const std::map<std::string_view, GgufValue>& all() const { return pairs_; }

 private:
  friend class GgufParser;
  Result<const GgufValue*> get(std::string_view key, std::string_view wanted,
                               bool (*is_wanted)(const GgufValue&)) const;
  Result<const GgufValue*> get_array(std::string_view key, std::string_view wanted,
                                     bool (*is_wanted)(const GgufValue&)) const;

  std::map<std::string_view, GgufValue> pairs_;
  std::string file_;
};

struct GgufFile {
  GgufMetadata metadata;
  TensorMap tensors;  // shapes slowest first; dtype as simd/types.h spells it, or GGUF's own name
};

// All of one file. `name` is for messages.
Result<GgufFile> parse_gguf(std::span<const std::byte> file, const std::string& name);

// A model: its metadata (of the first file) and the tensors of all its files.
struct GgufModel {
  Checkpoint checkpoint;
  GgufMetadata metadata;  // views into checkpoint.files
};

// Opens one file, or all splits of a model, "NAME-00001-of-0000N.gguf" (any of
// them may be given), which must be complete and agree.
// Errors: kNotFound (a missing split is named), kMismatch (splits that do not
// agree), kIo, and those of the parser.
Result<GgufModel> open_gguf(const std::string& path);

// Do the first bytes say GGUF? False also where the file cannot be read.
bool is_gguf(const std::string& path);

}  // namespace pc
