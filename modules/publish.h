// How bytes become an object: complete and on the disk before they get their
// name, in one step, first writer wins.
//
// A crash at any instant leaves either nothing or the whole object; with
// kNamed it may leave an unfinished file in tmp/, which gc sweeps.
// Internal to modules/. Threads: any.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.h"
#include "modules/module_store.h"  // Durability
#include "modules/store_dir.h"

namespace pc {

enum class Staging {
  kAnonymous,  // O_TMPFILE and linkat; kNamed where the file system has none
  kNamed,      // a file in tmp/, then a rename that does not replace
};

enum class Published {
  kNew,
  kExists,   // somebody was first; nothing was changed
  kNoSpace,  // the disk or the quota is full
};

// Other failures: kIo. An error of fdatasync gives the bytes up: it is never tried again.
Result<Published> publish_bytes(const StoreDir& dir, const ModuleKey& key,
                                std::span<const std::byte> bytes, Durability durability,
                                Staging staging);

}  // namespace pc
