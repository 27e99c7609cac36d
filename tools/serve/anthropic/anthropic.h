// Requests of POST /v1/messages: Anthropic's protocol of conversations.
#pragma once

#include "tools/serve/request/question.h"

namespace pc::serve {

struct AnthropicRequest {
  Question question;
  bool streams = false;
};

// counts: for count_tokens, which needs no max_tokens. Throws ApiError.
AnthropicRequest read_anthropic(const Json& body, const ModelFacts& model, bool counts);

}  // namespace pc::serve
