// Requests of POST /v1/chat/completions: OpenAI's protocol of conversations.
#pragma once

#include "tools/serve/openai/openai_request.h"
#include "tools/serve/request/fields.h"

namespace pc::serve {

// What such requests have beside the prompt: how tokens are drawn, logprobs, whether it streams.
// Throws ApiError.
void read_openai_answer(Fields& fields, const ModelFacts& model, OpenAiRequest* request);

// Throws ApiError.
OpenAiRequest read_openai_chat(const Json& body, const ModelFacts& model);

}  // namespace pc::serve
