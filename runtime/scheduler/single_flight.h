// The wait for the right to encode a module, where other processes may be encoding
// the same one.
//
// Asleep, but looking now and then: flock has no end of waiting, and no process can wake another.
// (Threads of one process wake each other: long_mutex.h.) While the holder of the lock lives
// and computes it is waited for; its death frees the lock. One that is stopped, frozen, or hidden
// from here, as in another container, is waited for as long as Patience::idle says; then one of
// those who wait stands in for it, and the others wait for that one. Nobody waits longer than
// Patience::all.
// Threads: any.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/status.h"
#include "modules/module_key.h"
#include "modules/module_store.h"
#include "modules/store/file_lock.h"

namespace pc {

struct Patience {
  std::chrono::milliseconds idle{10'000};  // with a holder that uses no processor
  std::chrono::milliseconds all{600'000};  // then work is done twice rather than late
};

// Not held where there is no right to be had: the module is then encoded without it.
// Errors: kCancelled, within 50 ms.
Result<FileLock> wait_for_flight(ModuleStore& store, const ModuleKey& key,
                                 const volatile std::int32_t* cancel, Patience patience = {});

}  // namespace pc
