// Where files of packed weights lie: beside the module store.
//
//   <cache dir>/packed/<64 hex>        0400, immutable; the name is the key
//   <cache dir>/packed/used/<64 hex>   mtime: last use; text: verified in which boot
//   <cache dir>/packed/lock            held while a file is made
//
// A tenant of the file cache, whose promises hold (modules/store/cache_folder.h). They do
// not count for the store's budget: one is made for each model, of about the model's own
// size, and it goes when nobody used it for 30 days.
// Threads and processes: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "modules/store/cache_folder.h"

namespace pc {

// `cache_dir` must exist; the rest is made where missing and `create`. Without it the
// folder is not writable, and one that is missing opens without files.
Result<CacheFolder> open_packed_folder(const std::string& cache_dir, bool create);

enum class PackedState {
  kCurrent,  // the header is of this version
  kOlder,    // of an earlier one
  kOther,    // of a later one; damaged; not to be trusted
};

struct PackedEntry : CacheEntry {
  PackedState state = PackedState::kOther;
  Digest weights{};  // of the model; where kCurrent
};

// Sorted by key. Foreign names, links and pipes are ignored.
std::vector<PackedEntry> list_packed(const CacheFolder& folder);

// Unlinks what nobody used for 30 days and what an older version wrote, but
// nothing in use; and what crashes have left.
EvictionReport collect_packed(const CacheFolder& folder);

// Waits up to `patience` for the right to make a file here, of one process at a time.
FileLock lock_packed(const CacheFolder& folder, std::chrono::milliseconds patience);

}  // namespace pc
