// What the request behind an answer will tell, as far as anybody can know.
//
// Pure function of values. Threads: any.
#pragma once

#include <optional>

#include "tools/serve/answer/gathered_answers.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

// The question's conversation with the answer as clients give it back, without its thoughts, and a
// turn behind it of whoever is next: the results of its calls, or the user's. None: it is no
// conversation that goes on so, or its prompt is not to be kept.
std::optional<Question> next_turn(const Question& question, const GatheredAnswer& answer);

}  // namespace pc::serve
