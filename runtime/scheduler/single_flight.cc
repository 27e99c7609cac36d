#include "runtime/scheduler/single_flight.h"

#include <optional>

#include "base/progress.h"  // cancelled

namespace pc {
namespace {

using Clock = std::chrono::steady_clock;

// How often a wait looks at its cancel flag, and at the holder.
constexpr std::chrono::milliseconds kPoll{50};
// Whoever stands in may be stopped, too; that it happens to two of them is next to impossible.
constexpr unsigned kMostStandIns = 2;

// For one of a key's locks, until `end`.
Result<FileLock> wait_for(ModuleStore& store, const ModuleKey& key, unsigned stand_in,
                          const volatile std::int32_t* cancel, std::chrono::milliseconds idle,
                          Clock::time_point end) {
  auto last_moved = Clock::now();
  for (std::optional<std::uint64_t> ticks;;) {
    FileLock flight = store.lock(key, kPoll, stand_in);
    if (flight.state() != LockState::kBusy) return flight;
    if (is_set(cancel)) return cancelled();
    const auto now = Clock::now();
    if (flight.holder_ticks() != ticks) last_moved = now;
    if (now - last_moved > idle || now > end) return flight;
    ticks = flight.holder_ticks();
  }
}

}  // namespace

Result<FileLock> wait_for_flight(ModuleStore& store, const ModuleKey& key,
                                 const volatile std::int32_t* cancel, Patience patience) {
  const auto end = Clock::now() + patience.all;
  for (unsigned stand_in = 0;; ++stand_in) {
    PC_TRY(FileLock flight, wait_for(store, key, stand_in, cancel, patience.idle, end));
    if (flight.state() != LockState::kBusy || stand_in == kMostStandIns || Clock::now() > end)
      return flight;
  }
}

}  // namespace pc
