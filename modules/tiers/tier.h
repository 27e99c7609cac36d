// A store behind the store: a folder laid out as one, from which files are read and to which
// nothing is written (docs/adr/0058-tiers.md). It may be on a file system that hangs, goes away or
// is somebody else's; each of these is an error value of a call that returns.
//
// Which files it has is a list, read when the tier is made and again, by its courier, when the list
// is older than two seconds and somebody looks into it.
// Neither copied nor moved. Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/hash.h"
#include "base/status.h"
#include "modules/store/cache_folder.h"
#include "modules/tiers/courier.h"
#include "modules/tiers/signature.h"
#include "modules/tiers/tier_listing.h"

namespace pc {

// Bytes to be filled, and what keeps them.
struct TierTarget {
  std::shared_ptr<void> owner;
  std::span<std::byte> bytes;
};

struct TierReport {
  std::string dir;
  std::string trouble;     // why it is not asked; "": it is
  bool is_signed = false;  // its files are trusted by signature, not by owner
  std::uint64_t n_files = 0;
  std::uint64_t n_found = 0, found_bytes = 0;  // that were asked for, and served
  std::uint64_t n_failed = 0;                  // that were asked for, listed, and not served
  double bytes_per_second = 0;                 // of reading; 0: nothing was read yet
};

class Tier {
 public:
  // Waits for the first list, but not for a file system that hangs. `trusted`: whose signatures
  // stand for files that others may change.
  Tier(std::string dir, const CacheTenant& tenant, std::vector<PublicKey> trusted,
       TierTrust trust = TierTrust::kOwnerOrSignature);
  Tier(const Tier&) = delete;
  ~Tier();

  const std::string& dir() const;

  // Is this file in the list? Never waits.
  bool lists(const Digest& key);
  // The whole list, read now. kIo, kNotFound, kOutOfMemory: why there is none.
  Result<std::vector<Digest>> list();

  // kNotFound; kIo, also where the tier does not answer, and for what is not to be trusted;
  // kCancelled where others have kept its courier busy for kOpenPatience. The file is closed where
  // nobody waits for that.
  static constexpr std::chrono::milliseconds kOpenPatience{3000};  // a hang is noticed before
  Result<std::shared_ptr<const TierFile>> open(const Digest& key);

  // Reads all bytes of a file, target.bytes.size() of them. kIo; kCorrupt where there are fewer;
  // kCancelled where goes_on() says no.
  Status read(const std::shared_ptr<const TierFile>& file, const TierTarget& target,
              FunctionRef<bool()> goes_on);

  // So much was read in that time. Short reads say nothing of a file system, and do not count.
  void note_read(std::uint64_t n_bytes, std::chrono::nanoseconds time);
  double bytes_per_second() const;  // 0: not known, or not lately

  void note_found(std::uint64_t n_bytes);
  // The file was listed and could not be used; `for_good`: it is damaged, and not to be listed
  // again.
  void note_failed(const Digest& key, bool for_good);

  TierReport report() const;

 private:
  struct State;
  bool refresh(bool waits);
  Error away() const;
  const std::shared_ptr<State> state_;  // shared with the courier's trips
  Courier courier_;
};

}  // namespace pc
