// A conversation on its way onto a timeline: what is found of it is attached, and the rest is to be
// computed.
//
// Of a prompt, its modules are found or encoded, and so are links that another conversation kept; a
// conversation that moved to another engine is computed from its tokens alone. Computes nothing of
// the conversation itself. Threads: any; the scheduler computes what modules and repairs want.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "runtime/backend/backend_handle.h"
#include "runtime/prompt/asked_repairs.h"
#include "runtime/prompt/chain.h"
#include "runtime/prompt/loaded_prompt.h"
#include "runtime/sampling/prompt_scores.h"
#include "runtime/scheduler/stopwatch.h"
#include "runtime/session/session_options.h"
#include "runtime/session/session_stats.h"

namespace pc {

struct Reading {
  BackendTimeline timeline;                   // with all that is attached
  Chain chain;                                // with all of the conversation
  std::vector<pc_run> runs = {};              // what is missing of it; borrows its tokens
  std::uint64_t n_module_tokens = 0;          // attached from modules
  std::shared_ptr<PromptScores> scores = {};  // null: none were asked for
  Stopwatch compute_watch = {};               // since the runs are computed
};

// Who reads a prompt, and how. Borrowed.
struct Reader {
  const SessionOptions& options;
  std::uint64_t client;  // Work::client
  const volatile std::int32_t* cancel;
  AskedRepairs* repairs;
  std::vector<ResidentHandle>* modules;  // gets those of the prompt, as far as it comes
  ReadStats* stats;                      // as well
};

Result<Reading> read_prompt(const LoadedPrompt& prompt, const Reader& reader);

// What this chain has, on its engine, with nothing attached.
Result<Reading> read_again(const Engine& engine, const Chain& chain);

}  // namespace pc
