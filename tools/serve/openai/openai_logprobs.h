// The chances of drawn tokens, as OpenAI's protocols write them.
#pragma once

#include <vector>

#include "tools/serve/answer/event.h"

namespace pc::serve {

// Of a chat: a list of {"token", "logprob", "bytes", "top_logprobs"}.
Json chat_logprobs(const std::vector<DrawnToken>& tokens);

// Of a completion: lists beside each other. offset: of where the first token begins, in characters;
// then of what comes behind the last.
Json text_logprobs(const std::vector<DrawnToken>& tokens, std::size_t* offset);

}  // namespace pc::serve
