#include "bench/traces/replay.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

namespace pc::bench {
namespace {

// Between two look-ups, and between two files that are written (docs/adr/0038): what tells the
// stamps of one request's links apart.
constexpr std::int64_t kLookUpNs = 30'000, kWriteNs = 4'000'000;

class Replay {
 public:
  Replay(const Trace& trace, const Costs& costs, const PolicyKind& policy,
         const ReplayOptions& options)
      : trace_(trace), options_(options) {
    store_.trace = &trace;
    store_.costs = costs;
    store_.budget_bytes = options.budget_bytes;
    store_.use_grain_ns = options.use_grain_ns;
    store_.links.resize(trace.links.size());
    place_.resize(trace.links.size());
    used_by_.resize(trace.links.size(), SIZE_MAX);
    for (std::size_t i = 0; i < trace.links.size(); ++i) {
      store_.links[i].entry.key = trace.links[i].key;
      store_.links[i].entry.file_bytes = trace.links[i].bytes;
    }
    know_the_future();
    policy_ = policy.make(store_);
  }

  Outcome run() {
    for (now_ = 0; now_ < trace_.requests.size(); ++now_) answer(trace_.requests[now_]);
    return outcome_;
  }

 private:
  // [requests][links] which request looks for each link next.
  void know_the_future() {
    std::vector<std::uint32_t> next(trace_.links.size(), kNever);
    next_use_.resize(trace_.requests.size());
    for (std::size_t r = trace_.requests.size(); r-- > 0;) {
      for (const std::uint32_t link : trace_.requests[r].links) {
        next_use_[r].push_back(next[link]);
        next[link] = static_cast<std::uint32_t>(r);
      }
    }
  }

  void answer(const TraceRequest& request) {
    store_.now_ns = request.time_ns;
    store_.request_tokens = request.n_tokens;
    find(request);
    keep(request);
  }

  void find(const TraceRequest& request) {
    const double full = store_.costs.seconds(request.n_tokens, 0);
    double found = 0, leading = 0;
    bool is_leading = true;
    std::uint64_t n_missing = 0;
    for (std::size_t i = 0; i < request.links.size(); ++i) {
      const std::uint32_t link = request.links[i];
      const TraceLink& file = trace_.links[link];
      is_leading = is_leading && store_.links[link].is_stored;
      if (!store_.links[link].is_stored) {
        ++n_missing;
        continue;
      }
      store_.now_ns += kLookUpNs;
      use(link, next_use_[now_][i]);
      found += store_.costs.seconds(file);
      outcome_.found_tokens += file.n_tokens;
      outcome_.holes += n_missing;
      n_missing = 0;
      if (!is_leading) continue;
      leading += store_.costs.seconds(file);
      outcome_.leading_tokens += file.n_tokens;
    }
    outcome_.tokens += request.n_tokens;
    outcome_.full_s += full;
    outcome_.computed_s += full - found;
    outcome_.computed_behind_s += full - leading;
  }

  void keep(const TraceRequest& request) {
    for (std::size_t i = 0; i < request.links.size(); ++i) {
      const std::uint32_t link = request.links[i];
      if (store_.links[link].is_stored) continue;
      store_.now_ns += kWriteNs;
      if (!make_room(trace_.links[link].bytes)) {
        ++outcome_.refused_files;
        continue;
      }
      write(link, next_use_[now_][i]);
    }
  }

  // A use is written down where the stamp is older than the grain, as CacheFolder::mark_used does.
  void use(std::uint32_t link, std::uint32_t next_use) {
    StoredLink& stored = store_.links[link];
    if (std::abs(store_.now_ns - stored.entry.last_used_ns) >= options_.use_grain_ns)
      stored.entry.last_used_ns = store_.now_ns;
    stored.used_ns = store_.now_ns;
    stored.next_use = next_use;
    ++stored.n_uses;
    used_by_[link] = now_;
    policy_->used(link);
  }

  void write(std::uint32_t link, std::uint32_t next_use) {
    StoredLink& stored = store_.links[link];
    stored.is_stored = true;
    stored.entry.made_ns = stored.entry.last_used_ns = stored.used_ns = store_.now_ns;
    stored.next_use = next_use;
    stored.n_uses = 1;
    used_by_[link] = now_;
    place_[link] = store_.numbers.size();
    store_.numbers.push_back(link);
    store_.bytes += trace_.links[link].bytes;
    outcome_.written_bytes += trace_.links[link].bytes;
    if (const std::uint32_t before = trace_.links[link].before; before != kNoLink)
      ++store_.links[before].n_behind;
    policy_->used(link);
  }

  void remove(std::uint32_t link) {
    policy_->removed(link);
    store_.links[link].is_stored = false;
    store_.numbers[place_[link]] = store_.numbers.back();
    place_[store_.numbers.back()] = place_[link];
    store_.numbers.pop_back();
    store_.bytes -= trace_.links[link].bytes;
    ++outcome_.removed_files;
    if (const std::uint32_t before = trace_.links[link].before; before != kNoLink)
      --store_.links[before].n_behind;
  }

  // As CacheFolder::reserve.
  bool make_room(std::uint64_t n_bytes) {
    const std::uint64_t budget = options_.budget_bytes;
    if (n_bytes > budget) return false;
    if (store_.bytes + n_bytes <= budget) return true;
    const bool has_many = store_.numbers.size() >= options_.many_files;
    const std::uint64_t target = budget - (has_many ? budget / options_.many_files_rest : 0);
    ++outcome_.listings;
    policy_->evict([&](std::uint32_t link) {
      if (store_.bytes + n_bytes <= target) return false;
      if (used_by_[link] != now_) remove(link);
      return true;
    });
    return store_.bytes + n_bytes <= budget;
  }

  const Trace& trace_;
  const ReplayOptions options_;
  SimulatedStore store_;
  std::vector<std::size_t> place_;    // [links] in store_.numbers
  std::vector<std::size_t> used_by_;  // [links] the request that found or wrote it last
  std::vector<std::vector<std::uint32_t>> next_use_;
  std::unique_ptr<Policy> policy_;
  std::size_t now_ = 0;  // the request that is answered
  Outcome outcome_;
};

}  // namespace

Outcome replay(const Trace& trace, const Costs& costs, const PolicyKind& policy,
               const ReplayOptions& options) {
  return Replay(trace, costs, policy, options).run();
}

}  // namespace pc::bench
