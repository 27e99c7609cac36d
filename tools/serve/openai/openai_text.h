// Requests of POST /v1/completions: OpenAI's older protocol, of bare text.
#pragma once

#include "tools/serve/openai/openai_chat.h"

namespace pc::serve {

// Both throw ApiError.
OpenAiRequest read_openai_text(const Json& body, const ModelFacts& model);

// Of either protocol: what has no prompt has messages.
Question question_of(const Json& body, const ModelFacts& model);

}  // namespace pc::serve
