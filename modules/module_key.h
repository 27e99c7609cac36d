// What makes two encoded modules the same: the causes of their bytes, and the
// name computed from them.
//
// A ModuleIdentity lists every cause of a module's bytes (DESIGN D7): change
// any one and the attention states may differ, so the key differs. Nothing is
// guessed and nothing is a wildcard: a digest that is all zero is an error.
// ModuleCauses is the same at fixed size, the variable parts as digests: what
// a file's header stores, from which anyone can compute the key again.
//
// Threads: values, thread-compatible.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"  // Digest
#include "base/status.h"
#include "modules/kv.h"  // KvGeometry

namespace pc {

// Version of the arithmetic that makes K and V. Raised when a kernel changes
// them beyond the tolerance stated in its tests, so that no run mixes states
// of two arithmetics. Instruction sets share a version: they differ by rounding,
// as bf16 states themselves do (docs/adr/0015-attention-kernels.md).
//   1  products and attention in f32
//   2  activations in 8 bits against quantised weights; attention's queries and
//      weights in bf16 where pairs of bf16 are multiplied, in 8 bits (weights in 7
//      without VNNI) where bytes of q8 states are
//   3  activations of arguments beyond 88 are numbers, and the right ones
inline constexpr std::uint32_t kKvNumericsVersion = 3;

// SHA-256 of the causes; in hexadecimal, the name of the file.
struct ModuleKey {
  Digest digest{};
  std::string hex() const { return to_hex(digest); }
  friend auto operator<=>(const ModuleKey&, const ModuleKey&) = default;
};

// Tokens of the encoding pass that are contiguous in position. Kept runs are
// in the file; the others were seen by them.
struct IdentityRun {
  std::vector<std::int32_t> tokens;  // never empty
  std::int32_t position = 0;         // of tokens[0], counted from the first kept token
  bool keep = false;
};

struct ModuleIdentity {
  Digest weights{};     // Model::weights_digest
  std::string adapter;  // "" = none
  Digest tokenizer{};
  Digest rope{};  // Model::rope_digest
  KvGeometry geometry;
  std::uint32_t layout_version = kKvLayoutVersion;
  std::uint32_t numerics_version = kKvNumericsVersion;
  std::uint32_t attend = 0;  // what the pass let a module see; the runtime's number
  std::string name_space;    // modules of different namespaces are never shared
  // Where states depend on the place (learned positions): the logical position
  // of the first kept token. 0 for all models whose modules may be moved.
  std::int32_t origin = 0;
  std::vector<IdentityRun> runs;  // positions strictly increase; the first kept run is at 0
};

// Stored in files as it stands (modules/format.h): append-only, no padding.
struct ModuleCauses {
  Digest weights{};
  Digest tokenizer{};
  Digest rope{};
  Digest adapter{};     // SHA-256 of the string as a field
  Digest name_space{};  // the same
  Digest pass{};        // over every run: tokens, position, keep
  KvGeometry geometry;
  std::uint32_t layout_version = 0;
  std::uint32_t numerics_version = 0;
  std::uint32_t attend = 0;

  friend bool operator==(const ModuleCauses&, const ModuleCauses&) = default;
};

// kInvalidArgument, naming the field: a zero digest, no kept run, an empty run,
// runs that overlap or leave the range of positions, a geometry out of limits.
Status check_identity(const ModuleIdentity& identity);

ModuleCauses causes_of(const ModuleIdentity& identity);
ModuleKey key_of(const ModuleCauses& causes);
inline ModuleKey key_of(const ModuleIdentity& identity) {
  return key_of(causes_of(identity));
}

// "weights", "tokenizer", ...: the first field in which two causes differ; "" if none.
const char* first_difference(const ModuleCauses& a, const ModuleCauses& b);

}  // namespace pc
