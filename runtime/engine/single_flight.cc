#include "runtime/engine/single_flight.h"

#include <optional>

#include "base/progress.h"  // cancelled

namespace pc {
namespace {

// How often a wait looks at its cancel flag, and at the holder.
constexpr std::chrono::milliseconds kPoll{50};

}  // namespace

Result<FileLock> wait_for_flight(ModuleStore& store, const ModuleKey& key,
                                 const volatile std::int32_t* cancel, Patience patience) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  auto last_moved = begin;
  for (std::optional<std::uint64_t> ticks;;) {
    FileLock flight = store.lock(key, kPoll);
    if (flight.state() != LockState::kBusy) return flight;
    if (is_set(cancel)) return cancelled();
    const auto now = Clock::now();
    if (flight.holder_ticks() != ticks) last_moved = now;
    if (now - last_moved > patience.idle || now - begin > patience.all) return flight;
    ticks = flight.holder_ticks();
  }
}

}  // namespace pc
