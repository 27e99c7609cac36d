// The conversation of the request that will follow an answer, as far as it can be foreseen.
//
// Pure function of values. Threads: any.
#pragma once

#include <optional>

#include "tools/serve/answer/gathered_answers.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

// The question's conversation with the answer appended as clients send it back, without its
// thoughts, and behind it a stand-in for the next turn: results of the answer's calls, or a user's
// message. Nothing where the question is no conversation, or its prompt is not to be kept.
std::optional<Question> next_turn(const Question& question, const GatheredAnswer& answer);

}  // namespace pc::serve
