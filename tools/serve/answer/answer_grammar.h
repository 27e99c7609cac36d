// What an answer is held to while it is drawn: the form that its request asks for, and calls of
// tools where it must make one.
//
// Pure. Threads: any.
#pragma once

#include <optional>

#include "tools/constrain/grammar.h"
#include "tools/serve/models/served_model.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

// None: it may be anything. Where a tool must be called, the answer is one call of it, as the
// model's template writes calls. Throws ApiError: JSON beside tools that may be called.
std::optional<constrain::Grammar> answer_grammar(const Question& question,
                                                 const ServedModel& model);

}  // namespace pc::serve
