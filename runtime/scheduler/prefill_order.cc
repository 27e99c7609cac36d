#include "runtime/scheduler/prefill_order.h"

#include <tuple>

namespace pc {
namespace {

auto by_left(const WaitingPrefill& prefill) {
  return std::tuple(prefill.n_left, prefill.number);
}

}  // namespace

std::optional<PrefillTurn> prefill_turn(std::span<const WaitingPrefill> waiting) {
  if (waiting.empty()) return std::nullopt;
  const auto before = [](const WaitingPrefill& a, const WaitingPrefill& b) {
    return std::tuple(a.share, by_left(a)) < std::tuple(b.share, by_left(b));
  };
  std::size_t first = 0;
  for (std::size_t i = 1; i < waiting.size(); ++i)
    if (before(waiting[i], waiting[first])) first = i;
  std::size_t oldest = first;
  for (std::size_t i = 0; i < waiting.size(); ++i)
    if (waiting[i].client == waiting[first].client && waiting[i].number < waiting[oldest].number)
      oldest = i;
  if (waiting[oldest].n_behind >= kMostBehind) first = oldest;
  return PrefillTurn{first, oldest};
}

std::optional<std::size_t> next_prefill(std::span<const WaitingPrefill> waiting,
                                        std::uint32_t room) {
  const auto key = [room](const WaitingPrefill& prefill) {
    return std::tuple(prefill.n_left > room, !prefill.shares, by_left(prefill));
  };
  std::optional<std::size_t> next;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i].taken) continue;
    if (!next || key(waiting[i]) < key(waiting[*next])) next = i;
  }
  return next;
}

}  // namespace pc
