// Which files a tier has, and why they may be believed.
//
// Calls here may hang, as the tier's file system may: they are a courier's (modules/tiers/tier.h).
// Threads: values.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>

#include "base/function_ref.h"
#include "base/hash.h"
#include "base/status.h"
#include "modules/store/cache_folder.h"
#include "modules/tiers/manifest.h"
#include "modules/tiers/signature.h"

namespace pc {

using DigestSet = std::unordered_set<Digest, DigestHash>;

// An open file of a tier.
struct TierFile {
  OpenFile file;
  std::string path;       // for messages
  bool may_hang = false;  // its file system is none of those known to be local
  // Of all its bytes, where others may change them at any time; none: they may not.
  std::optional<Digest> sha256;

  std::uint64_t n_bytes() const { return static_cast<std::uint64_t>(file.st.st_size); }
};

// What makes files be believed.
enum class TierTrust {
  kOwnerOrSignature,  // they are this user's or root's alone, or a trusted key has signed the list
  kSignature,         // a trusted key has signed the list, whoever owns them
};

struct TierListing {
  DigestSet keys;
  // The owner is enough, and is this user or root. Else `manifest` has a signature of a trusted
  // key, and keys are those that it has, too.
  bool is_ours = false;
  Manifest manifest;

  // Calls `beat` for each name. Errors: kNotFound, kIo; kIo, too, for what is not to be trusted.
  static Result<TierListing> read(const std::string& dir, const CacheTenant& tenant,
                                  std::span<const PublicKey> trusted, TierTrust wanted,
                                  FunctionRef<void()> beat);

  // kNotFound, kIo; kIo for what is not to be trusted; kCorrupt: not of the size that was signed.
  Result<std::shared_ptr<const TierFile>> open(const std::string& dir, const CacheTenant& tenant,
                                               const Digest& key) const;
};

// May calls on this open file's system wait for ever? True for all but those known to be local.
bool may_hang(int fd);

}  // namespace pc
