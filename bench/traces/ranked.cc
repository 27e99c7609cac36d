#include "bench/traces/ranked.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace pc::bench {
namespace {

class Heap {
 public:
  void add(const Rank& rank) {
    ranks_.push_back(rank);
    std::ranges::push_heap(ranks_, std::greater<>());
  }
  bool empty() const { return ranks_.empty(); }
  std::uint32_t first() const { return std::get<std::uint32_t>(ranks_.front()); }
  void pop() {
    std::ranges::pop_heap(ranks_, std::greater<>());
    ranks_.pop_back();
  }

 private:
  std::vector<Rank> ranks_;
};

}  // namespace

void Ranked::evict(FunctionRef<bool(std::uint32_t)> take) {
  Heap heap;
  for (const std::uint32_t link : store_.numbers) heap.add(rank(link));
  for (; !heap.empty() && take(heap.first()); heap.pop()) {
  }
}

void LeavesFirst::evict(FunctionRef<bool(std::uint32_t)> take) {
  Heap heap;
  const auto add_leaf = [&](std::uint32_t link) {
    if (store_.links[link].is_stored && store_.links[link].n_behind == 0) heap.add(rank(link));
  };
  for (const std::uint32_t link : store_.numbers) add_leaf(link);
  while (!heap.empty()) {
    const std::uint32_t link = heap.first();
    if (!take(link)) return;
    heap.pop();
    const std::uint32_t before = store_.trace->links[link].before;
    if (!store_.links[link].is_stored && before != kNoLink) add_leaf(before);
  }
}

}  // namespace pc::bench
