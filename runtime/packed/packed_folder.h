// Where files of packed weights lie: beside the module store.
//
//   <cache dir>/packed/<64 hex>        0400, immutable; the name is the key
//   <cache dir>/packed/used/<64 hex>   mtime: last use; text: verified in which boot
//   <cache dir>/packed/lock            held while a file is made
//
// The manners are the store's (modules/module_store.h): no index, complete files
// only, changed by nobody, unlinked and never truncated, so whoever has mapped one
// keeps it. They do not count for the store's budget: one is made for each model,
// of about the model's own size, and it goes when nobody used it for 30 days.
// Threads and processes: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "modules/module_key.h"
#include "modules/module_store.h"  // GcReport
#include "modules/store/file_lock.h"
#include "modules/store/store_dir.h"

namespace pc {

// `cache_dir` must exist; the rest is made where missing and `create`. Without it
// a folder that is missing opens with closed descriptors. objects is the folder
// itself; used, as a store's; the others are closed.
Result<StoreDir> open_packed_folder(const std::string& cache_dir, bool create);

enum class PackedState {
  kCurrent,  // the header is of this version
  kOlder,    // of an earlier one
  kOther,    // of a later one; damaged; not to be trusted
};

struct PackedEntry {
  ModuleKey key;  // the file's name, which is a key as modules have them
  std::uint64_t file_bytes = 0;
  std::int64_t last_used_ns = 0;  // since 1970
  PackedState state = PackedState::kOther;
  Digest weights{};  // of the model; where kCurrent
};

// Sorted by key. Foreign names, links and pipes are ignored.
std::vector<PackedEntry> list_packed(const StoreDir& folder);

// Unlinks what nobody used for 30 days and what an older version wrote, but
// nothing in use; and what crashes have left.
GcReport collect_packed(const StoreDir& folder);

// Unlinks one, also where in use: mappings stay valid. kNotFound; kIo.
Status remove_packed(const StoreDir& folder, const ModuleKey& key);

// Waits up to `patience` for the right to make a file here: one process at a time.
FileLock lock_packed(const StoreDir& folder, std::chrono::milliseconds patience);

// What a writer that was killed has left where the file system has no anonymous
// files. Precondition: the lock is held, so that nobody is writing.
void sweep_unfinished(const StoreDir& folder);

}  // namespace pc
