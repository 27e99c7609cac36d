// The list of a store's files, for whoever cannot list them or does not trust their folder: a
// text, so that it can be read, compared and served by any web server.
//
//   promptcache manifest 1
//   <64 hex key> <bytes> <64 hex SHA-256 of the file>     sorted by key
//   ...
//   signed <64 hex id of a public key> <128 hex signature>
//
// Signatures, one a key and kMostSignatures in all, cover all lines before the first of them.
// Nothing of a list is believed for which no signature of a trusted key holds.
// docs/MODULE_FORMAT.md. Threads: values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/hash.h"
#include "base/status.h"
#include "modules/tiers/signature.h"

namespace pc {

struct ManifestEntry {
  Digest key{};
  std::uint64_t n_bytes = 0;
  Digest sha256{};  // of all bytes of the file

  friend bool operator==(const ManifestEntry&, const ManifestEntry&) = default;
};

class Manifest {
 public:
  // A list of at most this many bytes is read: 400,000 files.
  static constexpr std::size_t kMostBytes = 64 << 20;
  // Each that is looked at takes a pass over the list.
  static constexpr std::size_t kMostSignatures = 64;

  Manifest() = default;
  // Sorts; of two entries of one key the first counts.
  explicit Manifest(std::vector<ManifestEntry> entries);
  // kCorrupt with the line; kUnsupported: of another version.
  static Result<Manifest> parse(std::string_view text);
  // kNotFound, kIo; parse()'s. A store has it at CacheTenant::manifest. Calls `beat`, where there
  // is one, as it gets on.
  static Result<Manifest> read(const std::string& path, FunctionRef<void()> beat = {});

  std::span<const ManifestEntry> entries() const { return entries_; }
  const ManifestEntry* find(const Digest& key) const;  // null: none

  // Has one of these keys signed the list?
  bool is_signed_by(std::span<const PublicKey> keys) const;
  // Adds a signature, by the private key in this file. sign()'s errors.
  Status sign_with(const std::string& private_key);

  std::string text() const;

 private:
  struct Signed {
    Digest key_id;
    Signature signature;
  };
  std::string signed_text() const;
  std::vector<ManifestEntry> entries_;
  std::vector<Signed> signatures_;
};

}  // namespace pc
