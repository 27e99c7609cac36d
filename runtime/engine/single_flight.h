// The wait for the right to encode a module, where other processes may be encoding
// the same one.
//
// Sleeps, and lasts as long as the holder of the lock lives and computes, however long
// that takes; its death frees the lock. One that is stopped or frozen, or that cannot be
// seen from here, as in another container, is waited for `patience` long and no longer.
// Threads: any.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/status.h"
#include "modules/module_key.h"
#include "modules/module_store.h"
#include "modules/store/file_lock.h"

namespace pc {

// Longer than it takes to encode any module that is worth storing, but for the largest.
inline constexpr std::chrono::milliseconds kFlightPatience{120'000};

// Not held where there is no right to be had: the module is then encoded without it.
// Errors: kCancelled, within 50 ms.
Result<FileLock> wait_for_flight(ModuleStore& store, const ModuleKey& key,
                                 const volatile std::int32_t* cancel,
                                 std::chrono::milliseconds patience = kFlightPatience);

}  // namespace pc
