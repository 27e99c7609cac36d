// Which tokens of a prompt's modules are computed anew, and by what they are found.
//
// A module that has not seen what stands before it in a prompt has states that a full prefill would
// not have. Some of its tokens can be computed in place, as fresh text is; what the module has of
// them is hidden then. Modules that have seen all of it are exact, and never repaired.
//
// Threads: any; borrows what it is given for the call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "pml/plan/plan.h"
#include "pml/syntax/repair.h"
#include "runtime/backend/backend_handle.h"
#include "runtime/prompt/chain.h"
#include "runtime/scheduler/scheduler.h"

namespace pc {

// Of one run of a plan: the indices of the tokens that are computed anew, growing.
using Anew = std::vector<std::uint32_t>;

// A run where it stands.
struct PlacedRun {
  const pml::PlanRun* run;
  Position position;
  const Digest* module = nullptr;     // whose states it takes; null: it is computed
  ResidentHandle resident = nullptr;  // with them; null where they are not there
  bool exact = true;                  // the states are those of a prefill
  pml::Repair repair = {};            // of what is not exact
  bool encoded = false;               // its module, for this very prompt
};

// Do the runs alone say which of their tokens are computed anew, or must it be computed?
bool is_found_out(const pml::Repair& repair);

// The first n_tokens of each module with kLeading; of a scaffold's modules and of stretches of
// anonymous text, each.
std::vector<Anew> leading_tokens(std::span<const PlacedRun> runs);

// How many tokens choose_anew() takes of these runs; of those with kAuto, none.
std::uint64_t n_anew(std::span<const PlacedRun> runs);

// How many of so many tokens that are not exact kAttended and kSelected take: one at least.
std::uint64_t selected_tokens(double share, std::uint64_t n_tokens);

// What stands before runs: what the timeline has seen, and tokens that it has yet to compute.
struct BeforeRuns {
  const BackendTimeline& timeline;
  std::uint64_t client = 0;  // who asks: Work::client
  std::span<const pc_run> unread = {};
};

// Which tokens of these runs, in order of position and with residents, are computed anew:
// [runs.size()]. kAttended and kSelected are found out by computing on a fork of the timeline; of
// runs with one repair, however they stand, the share is one of all of them.
// Precondition: no repair is kAuto.
// Errors: the scheduler's; kNotFinite; kUnsupported, kSelected of a model of one layer.
Result<std::vector<Anew>> choose_anew(std::span<const PlacedRun> runs, const BeforeRuns& before,
                                      Scheduler& scheduler, const volatile std::int32_t* cancel);

// Tokens of modules on their way into a chain, as the links between attached runs.
class ScatteredTokens {
 public:
  // Of a model with ALiBi, links have no gaps.
  explicit ScatteredTokens(const pc_model_desc& desc) : has_gaps_(!desc.alibi_slopes) {}
  void add(const Anew& anew, const Tokens& tokens, Position position);
  void move_to(Chain* chain);

 private:
  bool has_gaps_;
  Tokens tokens_;
  std::vector<Position> positions_;
};

// pc_attachment::hidden of a run of n tokens; empty where nothing is.
std::vector<std::uint32_t> hidden_bits(const Anew& anew, std::size_t n_tokens);

}  // namespace pc
