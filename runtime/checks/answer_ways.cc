#include "runtime/checks/answer_ways.h"

#include <algorithm>
#include <tuple>

namespace pc {
namespace {

using Kind = pml::Repair::Kind;

}  // namespace

std::vector<CheckedWay> checked_ways(const Engine& engine) {
  std::vector<CheckedWay> ways = {
      {{Kind::kNone, 0, 0.0}},           {{Kind::kLeading, 16, 0.0}},
      {{Kind::kLeading, 64, 0.0}},       {{Kind::kSelected, 0, 0.15}},
      {{Kind::kAttended, 0, 0.15}},      {{Kind::kSelected, 0, 0.30}},
      {{Kind::kAttended, 0, 0.30}},      {kEverythingAnew},
      {{Kind::kNone, 0, 0.0}, true},     {{Kind::kAttended, 0, 0.15}, true},
      {{Kind::kAttended, 0, 0.30}, true}};
  // It compares values of the second layer.
  if (engine.model().desc.n_layers == 1)
    std::erase_if(ways, [](const CheckedWay& w) { return w.repair.kind == Kind::kSelected; });
  if (engine.model().is_recurrent())
    std::erase_if(ways, [](const CheckedWay& w) { return w.repair.is_partial(); });
  return ways;
}

bool passes(const AnswerWay& way) {
  return way.way.repair == kEverythingAnew || way.kept >= kLeastKept;
}

const AnswerWay* best_way(std::span<const AnswerWay> ways, std::optional<bool> in_slots) {
  const auto counts = [&](const AnswerWay& way) {
    return way.passes && in_slots.value_or(way.way.in_slots) == way.way.in_slots;
  };
  std::uint64_t least_us = UINT64_MAX;
  for (const AnswerWay& way : ways)
    if (counts(way)) least_us = std::min(least_us, way.ttft_us);
  const AnswerWay* best = nullptr;
  for (const AnswerWay& way : ways) {
    const bool is_early =
        static_cast<double>(way.ttft_us) <= static_cast<double>(least_us) * kSameTime;
    if (counts(way) && is_early &&
        (!best || std::tie(way.kept, way.same_tokens) > std::tie(best->kept, best->same_tokens)))
      best = &way;
  }
  return best;
}

}  // namespace pc
