// Policies that rank files: the one with the least rank goes first. Of any file, or of those alone
// that no stored one goes on from, as in a radix tree, which loses leaves.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <tuple>

#include "bench/traces/policy.h"

namespace pc::bench {

using Rank = std::tuple<double, double, std::uint32_t>;  // what ranks, what ranks equals, the link

class Ranked : public Policy {
 public:
  explicit Ranked(const SimulatedStore& store) : store_(store) {}
  void evict(FunctionRef<bool(std::uint32_t link)> take) override;

 protected:
  virtual Rank rank(std::uint32_t link) const = 0;
  const SimulatedStore& store_;
};

class LeavesFirst : public Ranked {
 public:
  using Ranked::Ranked;
  void evict(FunctionRef<bool(std::uint32_t link)> take) override;
};

using RankOf = Rank (*)(const SimulatedStore& store, std::uint32_t link);

// A policy that remembers nothing.
template <class Kind, RankOf rank_of>
std::unique_ptr<Policy> ranked_by(const SimulatedStore& store) {
  class Plain final : public Kind {
   public:
    using Kind::Kind;

   protected:
    Rank rank(std::uint32_t link) const override { return rank_of(this->store_, link); }
  };
  return std::make_unique<Plain>(store);
}

}  // namespace pc::bench
