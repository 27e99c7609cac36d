// Turns with modules that come behind an answer: their part of the plan of the whole conversation.
//
// The conversation is resolved as the one prompt that it has become, so that a module stands, and
// sees, what it would in that prompt, and is the same file. Threads: any.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"
#include "pml/plan/plan.h"
#include "pml/syntax/prompt.h"
#include "runtime/prompt/loaded_prompt.h"

namespace pc {

struct TurnPlan {
  std::vector<pml::PlanRun> runs;  // from the closing of the answer's turn on, without gaps
  LoadedSchema::Modules modules;   // [PlanRun::job]
};

// `said`: the turns since the prompt, of which the answer is the last; `turns`: the new ones.
// n_schema_runs: schema_runs() of the runs that were read. Errors: pml::resolve's, at places in
// `turns`; kUnsupported: in the layout positions="schema"; where a module of the new turns would
// not stand behind the answer, because anonymous text that was read stands behind it in the schema;
// where the answer and the closing of its turn share a token.
Result<TurnPlan> plan_turns(const LoadedPrompt& prompt, const std::vector<pml::PromptNode>& said,
                            const std::vector<pml::PromptNode>& turns, std::size_t n_schema_runs);

// How many of these runs are text of the schema, or arguments in its parameters.
std::size_t schema_runs(std::span<const pml::PlanRun> runs);

}  // namespace pc
