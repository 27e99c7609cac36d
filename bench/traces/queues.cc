#include "bench/traces/queues.h"

#include <algorithm>

namespace pc::bench {
namespace {

// The paper's: two bits of uses; a tenth of the budget for the small queue, and as many keys
// remembered as the rest has files.
constexpr std::uint8_t kMostFound = 3;
constexpr std::uint64_t kSmallPart = 10;

}  // namespace

S3Fifo::S3Fifo(const SimulatedStore& store)
    : store_(store),
      n_found_(store.trace->links.size()),
      place_(store.trace->links.size(), Place::kNone) {}

void S3Fifo::used(std::uint32_t link) {
  if (place_[link] == Place::kSmall || place_[link] == Place::kMain) {
    n_found_[link] = std::min<std::uint8_t>(kMostFound, n_found_[link] + 1);
    return;
  }
  const bool is_ghost = place_[link] == Place::kGhost;
  if (is_ghost) ghost_bytes_ -= bytes(link);
  enter(link, is_ghost ? Place::kMain : Place::kSmall);
}

void S3Fifo::enter(std::uint32_t link, Place place) {
  place_[link] = place;
  n_found_[link] = 0;
  if (place == Place::kSmall) small_bytes_ += bytes(link);
  (place == Place::kSmall ? small_ : main_).push_back(link);
}

bool S3Fifo::evicts_small() const {
  return !small_.empty() && (main_.empty() || small_bytes_ >= store_.budget_bytes / kSmallPart);
}

// Each file is looked at often enough to lose all its uses; who is in use stays in its queue.
void S3Fifo::evict(FunctionRef<bool(std::uint32_t)> take) {
  std::size_t looks = (kMostFound + 2) * store_.numbers.size();
  for (; looks > 0 && !(small_.empty() && main_.empty()); --looks) {
    const bool is_small = evicts_small();
    Queue& queue = is_small ? small_ : main_;
    const std::uint32_t link = queue.front();
    const bool goes = is_small ? n_found_[link] <= 1 : n_found_[link] == 0;
    if (goes && !take(link)) return;
    queue.pop_front();
    if (goes && store_.links[link].is_stored)
      queue.push_back(link);
    else if (is_small)
      leave_small(link);
    else
      leave_main(link);
  }
}

void S3Fifo::leave_small(std::uint32_t link) {
  small_bytes_ -= bytes(link);
  if (store_.links[link].is_stored)
    enter(link, Place::kMain);
  else
    remember(link);
}

void S3Fifo::leave_main(std::uint32_t link) {
  if (!store_.links[link].is_stored) {
    place_[link] = Place::kNone;
    return;
  }
  --n_found_[link];
  main_.push_back(link);
}

void S3Fifo::remember(std::uint32_t link) {
  place_[link] = Place::kGhost;
  ghosts_.push_back(link);
  ghost_bytes_ += bytes(link);
  const std::uint64_t most = store_.budget_bytes - store_.budget_bytes / kSmallPart;
  for (; ghost_bytes_ > most && !ghosts_.empty(); ghosts_.pop_front()) {
    const std::uint32_t oldest = ghosts_.front();
    if (place_[oldest] != Place::kGhost) continue;
    place_[oldest] = Place::kNone;
    ghost_bytes_ -= bytes(oldest);
  }
}

}  // namespace pc::bench
