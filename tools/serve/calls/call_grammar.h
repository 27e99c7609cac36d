// What an answer that must call a tool is: one call as the model's template writes it, with
// arguments that the tool's schema takes.
//
// Pure. Threads: any.
#pragma once

#include <cstddef>

#include "runtime/constrain/grammar/grammar.h"
#include "tools/output/json.h"
#include "tools/serve/calls/call_shape.h"

namespace pc::serve {

// function: OpenAI's, of the request's `number`th tool, which messages about its schema name.
constrain::Grammar call_grammar(const CallShape& shape, const cli::Json& function,
                                std::size_t number);

}  // namespace pc::serve
