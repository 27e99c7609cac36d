#include "modules/store/replacement.h"

#include <algorithm>
#include <tuple>

namespace pc {
namespace {

// Of 1, 1.5, 2 and 3, on two traces: bench/traces.
constexpr double kFoundAgain = 1.5;

}  // namespace

// Stamps are as old as the grain without being written anew, so ages are told no finer.
double stay_of(const CacheEntry& entry, double worth, std::int64_t now_ns,
               std::chrono::nanoseconds use_grain) {
  const std::int64_t age = std::max<std::int64_t>(0, now_ns - entry.last_used_ns);
  const bool found_again = entry.last_used_ns - entry.made_ns >= use_grain.count();
  return worth * (found_again ? kFoundAgain : 1) /
         (static_cast<double>(age) + static_cast<double>(use_grain.count()));
}

bool EvictionOrder::goes_later(const Place& a, const Place& b) {
  return std::tie(a.stay, a.entry.last_used_ns, a.entry.key) >
         std::tie(b.stay, b.entry.last_used_ns, b.entry.key);
}

EvictionOrder::EvictionOrder(std::vector<CacheEntry> files, WorthOf worth, std::int64_t now_ns,
                             std::chrono::nanoseconds use_grain)
    : worth_(worth), now_ns_(now_ns), use_grain_(use_grain) {
  heap_.reserve(files.size());
  for (const CacheEntry& file : files)
    heap_.push_back({stay_of(file, 1, now_ns, use_grain), !worth, file});
  std::ranges::make_heap(heap_, goes_later);
}

std::optional<CacheEntry> EvictionOrder::next() {
  while (!heap_.empty()) {
    std::ranges::pop_heap(heap_, goes_later);
    Place& first = heap_.back();
    if (first.is_weighed) {
      const CacheEntry entry = first.entry;
      heap_.pop_back();
      return entry;
    }
    first.is_weighed = true;
    first.stay = stay_of(first.entry, worth_(first.entry.key), now_ns_, use_grain_);
    std::ranges::push_heap(heap_, goes_later);
  }
  return std::nullopt;
}

}  // namespace pc
