// Whose policies these are: bench/README.md.

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/traces/policy.h"
#include "bench/traces/queues.h"
#include "bench/traces/ranked.h"
#include "modules/module_worth.h"

namespace pc::bench {
namespace {

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

// ---- the store's own

// modules/store/replacement.h and modules/module_worth.h.
Rank by_worth(const SimulatedStore& store, std::uint32_t link) {
  const TraceLink& file = store.trace->links[link];
  const CacheEntry& entry = store.links[link].entry;
  const double stay = stay_of(entry, module_worth(file.n_tokens, file.position), store.now_ns,
                              std::chrono::nanoseconds(store.use_grain_ns));
  return {stay, seconds(entry.last_used_ns), link};
}

// The stamps alone: what the store did before.
Rank by_stamp(const SimulatedStore& store, std::uint32_t link) {
  return {seconds(store.links[link].entry.last_used_ns), 0, link};
}

// The same, ends before beginnings where stamps are in one grain.
Rank by_end(const SimulatedStore& store, std::uint32_t link) {
  const std::int64_t grain = std::max<std::int64_t>(1, store.use_grain_ns);
  return {static_cast<double>(store.links[link].entry.last_used_ns / grain),
          -static_cast<double>(store.trace->links[link].position), link};
}

// ---- LMCache's and SGLang's

Rank by_use(const SimulatedStore& store, std::uint32_t link) {
  return {seconds(store.links[link].used_ns), 0, link};
}

Rank by_latest_use(const SimulatedStore& store, std::uint32_t link) {
  return {-seconds(store.links[link].used_ns), 0, link};
}

Rank by_making(const SimulatedStore& store, std::uint32_t link) {
  return {seconds(store.links[link].entry.made_ns), 0, link};
}

// LMCache's: of as many uses, the first made.
Rank by_uses_then_making(const SimulatedStore& store, std::uint32_t link) {
  const StoredLink& file = store.links[link];
  return {file.n_uses, seconds(file.entry.made_ns), link};
}

Rank by_uses(const SimulatedStore& store, std::uint32_t link) {
  return {store.links[link].n_uses, seconds(store.links[link].used_ns), link};
}

// Of two segments: what was found twice or more is protected (SGLang's default).
Rank by_segment(const SimulatedStore& store, std::uint32_t link) {
  const StoredLink& file = store.links[link];
  return {file.n_uses > 2, seconds(file.used_ns), link};
}

// LMCache's COST_AWARE: tokens from the file's first to the end of the request that wrote it, for a
// byte, halved by 60 seconds without a use, divided by three by 120, ...
class CostAware final : public Ranked {
 public:
  explicit CostAware(const SimulatedStore& store)
      : Ranked(store), tokens_(store.trace->links.size()) {}
  void used(std::uint32_t link) override {
    if (store_.links[link].n_uses == 1)
      tokens_[link] = store_.request_tokens - store_.trace->links[link].position;
  }

 protected:
  Rank rank(std::uint32_t link) const override {
    const double age = seconds(store_.now_ns - store_.links[link].used_ns);
    const auto bytes = static_cast<double>(store_.trace->links[link].bytes);
    return {tokens_[link] / bytes / (1 + age / 60), 0, link};
  }

 private:
  std::vector<double> tokens_;  // [links]
};

// ---- the literature's

// GDSF (Cherkasova, 1998): uses times what a byte saves, on top of a clock that goes on with what
// was evicted last.
class GreedyDual final : public Ranked {
 public:
  explicit GreedyDual(const SimulatedStore& store)
      : Ranked(store), height_(store.trace->links.size()) {}
  void used(std::uint32_t link) override {
    height_[link] = clock_ + store_.links[link].n_uses * store_.worth(link);
  }
  void removed(std::uint32_t link) override { clock_ = std::max(clock_, height_[link]); }

 protected:
  Rank rank(std::uint32_t link) const override { return {height_[link], 0, link}; }

 private:
  std::vector<double> height_;  // [links]
  double clock_ = 0;
};

// Belady's: what is used farthest in the future, of one request's links the last first.
Rank by_next_use(const SimulatedStore& store, std::uint32_t link) {
  return {-static_cast<double>(store.links[link].next_use),
          -static_cast<double>(store.trace->links[link].position), link};
}

template <class Kind>
std::unique_ptr<Policy> make(const SimulatedStore& store) {
  return std::make_unique<Kind>(store);
}

constexpr PolicyKind kKinds[] = {
    {"worth", ranked_by<Ranked, by_worth>},
    {"lru", ranked_by<Ranked, by_stamp>},
    {"lru-ends-first", ranked_by<Ranked, by_end>},
    {"lmcache-lru", ranked_by<Ranked, by_use>},
    {"lmcache-lfu", ranked_by<Ranked, by_uses_then_making>},
    {"lmcache-fifo", ranked_by<Ranked, by_making>},
    {"lmcache-mru", ranked_by<Ranked, by_latest_use>},
    {"lmcache-cost", make<CostAware>},
    {"sglang-lru", ranked_by<LeavesFirst, by_use>},
    {"sglang-lfu", ranked_by<LeavesFirst, by_uses>},
    {"sglang-slru", ranked_by<LeavesFirst, by_segment>},
    {"s3-fifo", make<S3Fifo>},
    {"gdsf", make<GreedyDual>},
    {"farthest", ranked_by<Ranked, by_next_use>},
};

}  // namespace

std::span<const PolicyKind> policy_kinds() {
  return kKinds;
}

const PolicyKind* find_policy(std::string_view name) {
  const auto found = std::ranges::find(kKinds, name, &PolicyKind::name);
  return found == std::end(kKinds) ? nullptr : found;
}

}  // namespace pc::bench
