// What an answer is held to while it is drawn: the form that its request asks for, calls of tools
// where it must make one, and calls of strict tools where it may.
//
// Pure. Threads: any.
#pragma once

#include <optional>
#include <string>

#include "tools/constrain/grammar.h"
#include "tools/serve/models/served_model.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

struct AnswerRules {
  std::optional<constrain::Grammar> grammar = {};  // none: it may be anything
  std::string remark = {};  // what of the request does not hold, in a sentence; or ""
};

// Where a tool must be called, the answer is one call of it, as the model's template writes calls;
// where one may be called and a form is given, one call or the form; where a tool that may be
// called is strict, or one of the prompt may not be called, any text, and calls as the template
// writes them; where none may be called, any text in which no call begins. Throws ApiError.
AnswerRules answer_rules(const Question& question, const ServedModel& model);

}  // namespace pc::serve
