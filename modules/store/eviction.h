// What the store holds, and how it gets smaller.
//
// Least recently used first; a file that any process has mapped holds a
// shared lock (object_reader.h) and is passed over; nothing is ever
// truncated, so even a reader without a lock keeps its mapping. Stopping at
// any instant leaves nothing to repair. Internal to modules/, but for
// unlink_if_unused. Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "modules/module_store.h"  // StoreEntry, GcReport
#include "modules/store/store_dir.h"

namespace pc {

// Unlinks a name in an open directory unless someone holds a lock on its file.
enum class Unlinked { kYes, kInUse, kNo };
Unlinked unlink_if_unused(int dir_fd, const char* name);

// Sorted by key.
Result<std::vector<StoreEntry>> list_objects(const StoreDir& dir);

// Objects and quarantine, in bytes.
std::uint64_t stored_bytes(const StoreDir& dir);

// Evicts down to target_bytes, objects and quarantine together, and sweeps
// what crashes have left. One process at a time: kIo if another is still at
// it after `patience`.
Result<GcReport> collect(const StoreDir& dir, std::uint64_t target_bytes,
                         std::chrono::milliseconds patience);

}  // namespace pc
