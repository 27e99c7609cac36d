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

// The indices of the tokens of one run of a plan that are computed anew, increasing.
using Anew = std::vector<std::uint32_t>;

// A run of a plan at its position, and what its states come from.
struct PlacedRun {
  const pml::PlanRun* run;
  Position position;
  const Digest* module = nullptr;     // key of the module that has its states; null: it is computed
  ResidentHandle resident = nullptr;  // that module; null where it is not at hand
  bool exact = true;                  // the states are those of a full prefill
  pml::Repair repair = {};            // where they are not exact
  bool encoded = false;               // the module was encoded for this prompt just now
};

// Must the tokens that are computed anew be found out by computing (kAttended, kSelected)?
bool is_found_out(const pml::Repair& repair);

// The tokens that kLeading takes: the first n_tokens of each module, of each module of a scaffold,
// and of each stretch of anonymous text.
std::vector<Anew> leading_tokens(std::span<const PlacedRun> runs);

// How many tokens choose_anew() takes of these runs; runs with kAuto count as 0.
std::uint64_t n_anew(std::span<const PlacedRun> runs);

// How many of n_tokens tokens that are not exact kAttended and kSelected take: at least one.
std::uint64_t selected_tokens(double share, std::uint64_t n_tokens);

// What stands before these runs: what the timeline has seen, and `unread`, which it has yet to
// compute.
struct BeforeRuns {
  const BackendTimeline& timeline;
  std::uint64_t client = 0;  // who asks: Work::client
  std::span<const pc_run> unread = {};
};

// Which tokens of these runs are computed anew: [runs.size()]. The runs are in order of position
// and have residents. kAttended and kSelected are found out by computing on a fork of the timeline;
// runs with the same repair share one choice, so that a share counts over all of their tokens
// together. Precondition: no repair is kAuto. Errors: the scheduler's; kNotFinite; kUnsupported,
// kSelected of a model of one layer.
Result<std::vector<Anew>> choose_anew(std::span<const PlacedRun> runs, const BeforeRuns& before,
                                      Scheduler& scheduler, const volatile std::int32_t* cancel);

// Gathers tokens of modules that are computed anew, and puts them into a chain as links.
class ScatteredTokens {
 public:
  // With ALiBi, links have no gaps: each stretch becomes a link of its own.
  explicit ScatteredTokens(const pc_model_desc& desc) : has_gaps_(!desc.alibi_slopes) {}
  void add(const Anew& anew, const Tokens& tokens, Position position);
  void move_to(Chain* chain);

 private:
  bool has_gaps_;
  Tokens tokens_;
  std::vector<Position> positions_;
};

// Is a run of n tokens attached of which these are computed anew? Where layers carry states one of
// which all are is text: states do not come behind it twice.
bool is_attached(const pc_model_desc& model, const Anew& anew, std::size_t n_tokens);

// pc_attachment::hidden of a run of n tokens; empty where nothing is.
std::vector<std::uint32_t> hidden_bits(const Anew& anew, std::size_t n_tokens);

}  // namespace pc
