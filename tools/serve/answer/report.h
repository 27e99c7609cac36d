// What an answer cost, in the shapes that clients read it in.
#pragma once

#include "tools/serve/answer/event.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

// OpenAI's "usage".
Json openai_usage(const Usage& usage);
// llama-server's "timings".
Json timings(const Usage& usage);
// What was reused: mode, exact or not, tokens by where they came from, fields without a meaning.
Json prompt_cache(const Usage& usage, const Question& question);

}  // namespace pc::serve
