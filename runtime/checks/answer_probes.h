// Prompts to check answers with (runtime/checks/answer_check.h), where the user gives none:
// modules of the schema in changing choice and order, and a question about one of them.
//
// The questions are made from the module's own words: to go on from some of them, and what is said
// about one. They stand in for questions that a user would ask; such questions are better.
//
// Threads: any; the same schema gives the same prompts.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/status.h"
#include "runtime/prompt/loaded_prompt.h"

namespace pc {

// n prompts with two to four modules each, not those nested in a module counted, as many as leave
// half of the window free. Errors: kInvalidArgument, the schema has not two modules that
// stand side by side, or takes no user's turn behind them: then prompts are to be given.
Result<std::vector<std::shared_ptr<const LoadedPrompt>>> make_probes(
    const std::shared_ptr<LoadedSchema>& schema, std::size_t n);

}  // namespace pc
