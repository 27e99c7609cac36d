#include "modules/store/replacement.h"

#include <algorithm>
#include <tuple>
#include <utility>

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

void sort_for_eviction(std::vector<CacheEntry>* files, WorthOf worth, std::int64_t now_ns,
                       std::chrono::nanoseconds use_grain) {
  using Placed = std::pair<double, CacheEntry>;
  std::vector<Placed> placed;
  placed.reserve(files->size());
  for (const CacheEntry& file : *files)
    placed.push_back({stay_of(file, worth ? worth(file.key) : 1, now_ns, use_grain), file});
  std::ranges::sort(placed, {}, [](const Placed& p) {
    return std::tie(p.first, p.second.last_used_ns, p.second.key);
  });
  std::ranges::transform(placed, files->begin(), &Placed::second);
}

}  // namespace pc
