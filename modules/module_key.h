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

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"  // Digest
#include "base/status.h"
#include "modules/kv.h"  // KvGeometry

namespace pc {

// Of a backend's name: a longest one ends with the zero byte that ends it in a file.
inline constexpr std::size_t kMaxBackendName = 31;

// Far above any text, as KvGeometry's limits are above any model: a hostile header
// cannot ask for more than its own file holds.
inline constexpr std::uint32_t kMaxModuleTokens = 1u << 24;

// 1 to 31 of a-z, 0-9, '.', '_' and '-'.
bool is_backend_name(std::string_view name);

// ModuleIdentity::attend of a link of a chain, whose numbers of recurrent layers are the states
// behind its last token; a module's are maps.
inline constexpr std::uint32_t kLinkAttend = 32;

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
  std::string backend;                 // who computes: pc_backend_v1::name
  std::uint32_t numerics_version = 0;  // of that backend's arithmetic, from 1
  std::uint32_t attend = 0;            // what the pass let a module see; the runtime's number
  std::string name_space;              // modules of different namespaces are never shared
  // Where states depend on the place (learned positions): the logical position
  // of the first kept token. 0 for all models whose modules may be moved.
  std::int32_t origin = 0;
  // Of a link of a chain: all that stands before it and that it saw (runtime/prompt/chain.h).
  // Zeros for every other module, whose pass is its runs alone.
  Digest context{};
  // Of layers that carry a state of all tokens before: so many numbers stand behind keys and
  // values. 0: none.
  std::uint32_t n_recurrent = 0;
  // Positions strictly increase; the first kept run is at 0, or where the link stands.
  std::vector<IdentityRun> runs;
};

// Stored in files as it stands (modules/format.h): no padding.
struct ModuleCauses {
  Digest weights{};
  Digest tokenizer{};
  Digest rope{};
  Digest adapter{};     // SHA-256 of the string as a field
  Digest name_space{};  // the same
  Digest pass{};        // over the context and every run: tokens, position, keep
  Digest layers{};      // layers_digest() of the geometry
  KvType kv_type = KvType::kF32;
  std::uint32_t n_layers = 0;
  std::uint32_t layout_version = 0;
  std::uint32_t numerics_version = 0;
  std::uint32_t attend = 0;
  std::array<char, kMaxBackendName + 1> backend{};  // the name, then zeros
  std::uint32_t n_recurrent = 0;

  friend bool operator==(const ModuleCauses&, const ModuleCauses&) = default;
};

// kInvalidArgument, naming the field: a zero digest, no backend or none that could be
// one, no kept run, an empty run, runs that overlap or leave the range of positions, a
// geometry out of limits.
Status check_identity(const ModuleIdentity& identity);

// Over the shape of each layer.
Digest layers_digest(std::span<const KvLayer> layers);

// Precondition: is_backend_name(identity.backend), or no module of it is ever found.
ModuleCauses causes_of(const ModuleIdentity& identity);
ModuleKey key_of(const ModuleCauses& causes);
inline ModuleKey key_of(const ModuleIdentity& identity) {
  return key_of(causes_of(identity));
}

// The name in the causes of a file; "" where these bytes are none.
std::string_view backend_of(const ModuleCauses& causes);

// "weights", "tokenizer", ...: the first field in which two causes differ; "" if none.
const char* first_difference(const ModuleCauses& a, const ModuleCauses& b);

}  // namespace pc
