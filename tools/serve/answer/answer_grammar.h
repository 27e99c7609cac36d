// What an answer is held to while it is drawn: the form that its request asks for, calls of tools
// where it must make one, and calls of strict tools where it may.
//
// Pure. Threads: any.
#pragma once

#include <optional>
#include <string>

#include "runtime/constrain/grammar/grammar.h"
#include "tools/serve/models/served_model.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

struct AnswerRules {
  std::optional<constrain::Grammar> grammar = {};  // none: the answer may be anything
  std::string remark = {};  // what of the request does not hold, in a sentence; or ""
};

// The grammar of the answer to a question. If a tool must be called: one call, as the model's
// template writes calls. If one may be called and a form is given: one call, or the form. If a tool
// that may be called is strict, or the prompt has one that may not be called: any text, and calls
// as the template writes them. If none may be called: any text in which no call begins. Throws
// ApiError.
AnswerRules answer_rules(const Question& question, const ServedModel& model);

}  // namespace pc::serve
