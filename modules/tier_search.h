// What a store does not have, looked for in the stores behind it, and brought here as a module:
// mapped where it lies, or copied (docs/adr/0058-tiers.md).
//
// Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/status.h"
#include "modules/module_file.h"
#include "modules/module_key.h"
#include "modules/store/cache_folder.h"
#include "modules/tiers/tier.h"

namespace pc {

enum class TierCopy {
  kAuto,    // what must not be mapped, and what was read slowly
  kAlways,  // everything that is found
  kNever,   // nothing into the own store: into memory, what must not be mapped
};

// Where copies go: the store in front. Borrowed for one call.
struct TierHome {
  const CacheFolder& folder;  // remembers which files were verified
  // Null: no file can be made here.
  FunctionRef<std::shared_ptr<CacheDraft>(std::uint64_t n_bytes)> draft;
  FunctionRef<Result<ModuleHandle>(const ModuleHandle& module, CacheDraft* draft)> publish;
};

class TierSearch {
 public:
  using Accept = std::function<Status(const ModuleFile&)>;

  TierSearch() = default;  // of no tier
  TierSearch(const std::vector<std::string>& dirs, const CacheTenant& tenant,
             const std::vector<PublicKey>& trusted, TierCopy copy);

  // The module of this key, from the first tier that lists it and can give it; kNotFound where none
  // lists it, else the last one's error: kIo, kCorrupt, kMismatch, kUnsupported, or accept()'s.
  // made_bytes_per_second: a file that comes more slowly than that is not worth it, and is given up
  // (kCancelled); 0: any speed will do.
  Result<ModuleHandle> find(const ModuleKey& key, const Accept& accept, const TierHome& home,
                            double made_bytes_per_second) const;

  bool empty() const { return tiers_.empty(); }
  std::vector<TierReport> reports() const;

 private:
  std::vector<std::unique_ptr<Tier>> tiers_;
  TierCopy copy_ = TierCopy::kAuto;
};

// One module of a tier, copied; see TierSearch::find(). `to_disk`: into a file of home, where that
// can be; else into memory.
Result<ModuleHandle> copy_from(Tier& tier, const std::shared_ptr<const TierFile>& file,
                               const ModuleKey& key, const TierSearch::Accept& accept,
                               const TierHome& home, bool to_disk, FunctionRef<bool()> goes_on);

}  // namespace pc
