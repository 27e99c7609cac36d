// What the server counts, and its page in Prometheus' text format.
//
// Threads: any.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <promptcache/promptcache.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "tools/serve/answer/event.h"

namespace pc::serve {

// Of a model, now.
struct ModelGauges {
  std::string name;
  bool is_loaded = false;
  std::uint64_t n_loads = 0;
  std::size_t n_modules_waiting = 0;  // prompts that are encoded or computed while nobody waits
  pc_cache_counts cache{};            // since it was loaded
};

class Metrics {
 public:
  void count_response(const std::string& route, int status);
  void count_answer(const Usage& usage);
  void count_abandoned();
  // Of a next turn that was made ready.
  void count_prepared(std::uint64_t n_tokens);
  void count_prepared_used(std::uint64_t n_tokens);

  // What a model counted that is in memory no more.
  void count_ended(const pc_cache_counts& cache);

  // Of now.
  struct Gauges {
    std::size_t n_running = 0, n_waiting = 0;
  };
  std::string page(const Gauges& gauges, const std::vector<ModelGauges>& models) const;

 private:
  // Upper ends in seconds, of the time to the first token.
  static constexpr std::array kBuckets = {0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0};

  mutable Mutex mutex_;
  std::map<std::pair<std::string, int>, std::uint64_t> responses_ PC_GUARDED_BY(mutex_);
  std::array<std::uint64_t, kBuckets.size()> first_tokens_
      PC_GUARDED_BY(mutex_){};  // up to each end, not cumulated
  std::uint64_t n_answers_ PC_GUARDED_BY(mutex_) = 0;
  std::uint64_t n_abandoned_ PC_GUARDED_BY(mutex_) = 0;
  std::uint64_t n_prepared_ PC_GUARDED_BY(mutex_) = 0;
  std::uint64_t n_prepared_tokens_ PC_GUARDED_BY(mutex_) = 0;
  std::uint64_t n_used_ PC_GUARDED_BY(mutex_) = 0;  // of these
  std::uint64_t n_used_tokens_ PC_GUARDED_BY(mutex_) = 0;
  double first_token_seconds_ PC_GUARDED_BY(mutex_) = 0;
  Usage total_ PC_GUARDED_BY(mutex_);
  pc_cache_counts ended_ PC_GUARDED_BY(mutex_){};
};

}  // namespace pc::serve
