// A prompt resolved against a layout: the runs of tokens that make it up, in
// order of position, each either cached (a run of some encode job's file) or
// fresh (to be computed now).
//
// Invariants (checked by plan_check.h):
//   1. runs are sorted by position and do not overlap;
//   2. a cached run's tokens are its piece's tokens, and its job keeps that piece;
//   3. every cached piece of an imported module, and every one of the schema's
//      anonymous text, occurs exactly once;
//   4. in the compact layout the positions have no gap and start at 0.
//
// Pure value. Threads: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pml/layout/encode_plan.h"
#include "pml/turns/next_turns.h"
#include "pml/turns/text_encoder.h"

namespace pc::pml {

enum class RunKind {
  kCached,    // a kept run of jobs[job]
  kText,      // the prompt's own text
  kArgument,  // a parameter's value
  kRole,      // what opens and closes turns now, and opens the answer
  kUncached,  // text of a module without a file: cache="false", or of all (Schema::cache)
};

struct PlanRun {
  RunKind kind = RunKind::kText;
  Tokens tokens;          // never empty
  Position position = 0;  // logical position of tokens[0]
  std::string label;  // module path, parameter "trip-plan.duration", or "" for the prompt's text
  std::uint32_t job = 0;      // kCached: index into Plan::jobs
  std::uint32_t job_run = 0;  // kCached: index among that job's *kept* runs
  std::uint32_t piece = 0;    // kCached, kUncached: index into Layout::pieces
  // kText, kRole: the prompt's turn that it belongs to, of all turns of the conversation
  // (Plan::chat), or kNone.
  std::uint32_t turn = kNone;
  bool cache = true;   // false: text or argument of a module with cache="false"
  bool moved = false;  // schema layout: the text did not fit its gap and stands at the end
};

struct Plan {
  std::string schema;
  std::vector<PlanRun> runs;
  std::vector<JobSpec> jobs;  // those that runs name, each once
  Position end = 0;           // one past the last used position: where generation goes on
  Position shift = 0;         // schema layout: how far modules stand behind their schema positions
  std::vector<std::string> remarks;  // sentences: what stands elsewhere than written, and the like

  // Where an answer's turn is open: the conversation. Its opening, if there is any, is the last
  // run.
  std::optional<OpenChat> chat;

  std::uint64_t n_tokens() const {
    std::uint64_t n = 0;
    for (const PlanRun& r : runs) n += r.tokens.size();
    return n;
  }
};

}  // namespace pc::pml
