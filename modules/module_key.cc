#include "modules/module_key.h"

#include <algorithm>
#include <limits>
#include <span>

namespace pc {
namespace {

// Every hash starts with its own tag: no digest of one kind can be taken for
// one of another.
Sha256 tagged(std::string_view tag) {
  Sha256 hash;
  hash.field(tag);
  return hash;
}

Digest digest_of(std::string_view tag, std::string_view text) {
  return tagged(tag).field(text).finish();
}

bool is_link(const ModuleIdentity& identity) {
  return identity.context != Digest{};
}

// What begins the digest of a pass, under a tag of its own for each kind of module.
Sha256 begun_pass(const ModuleIdentity& identity) {
  if (is_link(identity)) {
    Sha256 hash = tagged("promptcache link");
    hash.field(std::as_bytes(std::span(identity.context)));
    return hash;
  }
  if (identity.origin == 0) return tagged("promptcache pass");
  Sha256 hash = tagged("promptcache placed pass");
  hash.field(static_cast<std::uint64_t>(std::int64_t{identity.origin}));
  return hash;
}

Digest pass_digest(const ModuleIdentity& identity) {
  Sha256 hash = begun_pass(identity);
  hash.field(identity.runs.size());
  for (const IdentityRun& run : identity.runs) {
    hash.field(std::uint64_t{run.keep});
    hash.field(static_cast<std::uint64_t>(std::int64_t{run.position}));
    hash.field(std::as_bytes(std::span(run.tokens)));
  }
  return hash.finish();
}

Error bad(const std::string& what) {
  return error(Code::kInvalidArgument, "module identity: " + what);
}

// Runs in order, disjoint, inside the range of positions; the first kept one at 0, or of a link
// where it stands.
Status check_runs(const std::vector<IdentityRun>& runs, bool link) {
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  std::uint64_t n_kept = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const IdentityRun& run = runs[i];
    const std::string name = "run " + std::to_string(i);
    if (run.tokens.empty()) return bad(name + " has no tokens");
    if (run.position < end) return bad(name + " overlaps or precedes the run before it");
    if (run.keep && n_kept == 0 && (link ? run.position < 0 : run.position != 0)) {
      return bad("the first kept run is at position " + std::to_string(run.position) +
                 "; positions count from its first token");
    }
    if (run.tokens.size() > kMaxModuleTokens) {
      return bad(name + " has more than " + std::to_string(kMaxModuleTokens) + " tokens");
    }
    end = std::int64_t{run.position} + static_cast<std::int64_t>(run.tokens.size());
    if (end > std::numeric_limits<std::int32_t>::max())
      return bad(name + " ends past the last position");
    if (run.keep) n_kept += run.tokens.size();
  }
  if (n_kept == 0) return bad("no run is kept, so there is nothing to store");
  if (n_kept > kMaxModuleTokens) {
    return bad("more than " + std::to_string(kMaxModuleTokens) + " kept tokens");
  }
  return ok();
}

}  // namespace

bool is_backend_name(std::string_view name) {
  const auto may_be_in = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kMaxBackendName && std::ranges::all_of(name, may_be_in);
}

Status check_identity(const ModuleIdentity& identity) {
  const Digest unset{};
  if (identity.weights == unset) return bad("the digest of the weights is not set");
  if (identity.tokenizer == unset) return bad("the digest of the tokenizer is not set");
  if (identity.rope == unset) return bad("the digest of the rotary embedding is not set");
  if (!is_backend_name(identity.backend)) {
    return bad("\"" + identity.backend + "\" cannot be the name of a backend");
  }
  if (identity.numerics_version == 0) return bad("the version of the arithmetic is not set");
  PC_CHECK_OK(check_geometry(identity.geometry));
  return check_runs(identity.runs, is_link(identity));
}

Digest layers_digest(std::span<const KvLayer> layers) {
  return tagged("promptcache layers").field(std::as_bytes(layers)).finish();
}

ModuleCauses causes_of(const ModuleIdentity& identity) {
  ModuleCauses causes;
  causes.weights = identity.weights;
  causes.tokenizer = identity.tokenizer;
  causes.rope = identity.rope;
  causes.adapter = digest_of("promptcache adapter", identity.adapter);
  causes.name_space = digest_of("promptcache namespace", identity.name_space);
  causes.pass = pass_digest(identity);
  causes.layers = layers_digest(identity.geometry.layers());
  causes.kv_type = identity.geometry.type();
  causes.n_layers = identity.geometry.n_layers();
  causes.layout_version = kv_layout_version(causes.kv_type);
  causes.numerics_version = identity.numerics_version;
  causes.attend = identity.attend;
  identity.backend.copy(causes.backend.data(), kMaxBackendName);
  causes.n_recurrent = identity.n_recurrent;
  return causes;
}

ModuleKey key_of(const ModuleCauses& causes) {
  const auto bytes = [](const Digest& digest) { return std::as_bytes(std::span(digest)); };
  Sha256 hash = tagged("promptcache module");
  hash.field(bytes(causes.weights)).field(bytes(causes.tokenizer)).field(bytes(causes.rope));
  hash.field(bytes(causes.adapter)).field(bytes(causes.name_space)).field(bytes(causes.pass));
  hash.field(bytes(causes.layers)).field(causes.n_layers);
  hash.field(static_cast<std::uint64_t>(causes.kv_type));
  hash.field(causes.layout_version).field(causes.numerics_version).field(causes.attend);
  hash.field(std::as_bytes(std::span(causes.backend)));
  if (causes.n_recurrent != 0) hash.field("recurrent").field(std::uint64_t{causes.n_recurrent});
  return {hash.finish()};
}

std::string_view backend_of(const ModuleCauses& causes) {
  const std::string_view bytes(causes.backend.data(), causes.backend.size());
  const std::string_view name = bytes.substr(0, bytes.find('\0'));
  const bool ends = bytes.find_first_not_of('\0', name.size()) == bytes.npos;
  return ends && is_backend_name(name) ? name : std::string_view();
}

const char* first_difference(const ModuleCauses& a, const ModuleCauses& b) {
  if (a.weights != b.weights) return "weights";
  if (a.adapter != b.adapter) return "adapter";
  if (a.tokenizer != b.tokenizer) return "tokenizer";
  if (a.rope != b.rope) return "rotary embedding";
  if (a.layers != b.layers || a.n_layers != b.n_layers || a.kv_type != b.kv_type)
    return "shape or type of K and V";
  if (a.layout_version != b.layout_version) return "layout of K and V";
  if (a.backend != b.backend) return "backend";
  if (a.numerics_version != b.numerics_version) return "version of the arithmetic";
  if (a.attend != b.attend) return "attend mode";
  if (a.name_space != b.name_space) return "namespace";
  if (a.pass != b.pass) return "tokens or positions of the pass";
  if (a.n_recurrent != b.n_recurrent) return "size of recurrent states";
  return "";
}

}  // namespace pc
