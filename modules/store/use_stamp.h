// One small file beside each object, used/<64 hex>: its time of modification
// says when the object was last used, its text that the object's payload was
// verified, as it is now, since this machine started.
//
// After a crash or a power failure the text is of another boot, and every
// object is verified once more. Objects themselves are never touched, so
// their status-change time shows any change to them. A damaged stamp reads as
// none: its text must be exactly what the reader would write.
// Internal to modules/. Threads: any.
#pragma once

#include <sys/stat.h>

#include <cstdint>

#include "modules/module_key.h"
#include "modules/store/store_dir.h"

namespace pc {

bool is_verified(const StoreDir& dir, const ModuleKey& key, const struct stat& object);

// Both do nothing where the store is not writable. The time of use is written
// at most once a minute; mark_verified always writes it.
void mark_verified(const StoreDir& dir, const ModuleKey& key, const struct stat& object);
void mark_used(const StoreDir& dir, const ModuleKey& key);

// Nanoseconds since 1970: the later of the object's making and its last use.
std::int64_t last_use_ns(const StoreDir& dir, const ModuleKey& key, const struct stat& object);

}  // namespace pc
