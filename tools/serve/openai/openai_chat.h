// POST /v1/chat/completions: OpenAI's protocol of conversations.
#pragma once

#include <memory>
#include <string>

#include "tools/serve/answer/answer_sink.h"
#include "tools/serve/http/http.h"
#include "tools/serve/models/served_model.h"
#include "tools/serve/openai/openai_request.h"
#include "tools/serve/request/fields.h"

namespace pc::serve {

// What such requests have beside the prompt: how tokens are drawn, logprobs, whether it streams.
// Throws ApiError.
void read_openai_answer(Fields& fields, const ModelFacts& model, OpenAiRequest* request);

// Throws ApiError.
OpenAiRequest read_openai_chat(const Json& body, const ModelFacts& model);

// Where the answer goes; also to a client that does not stream. Borrows the model.
std::unique_ptr<AnswerSink> openai_chat_sink(const OpenAiRequest& request, const ServedModel& model,
                                             std::shared_ptr<Reply> reply);

}  // namespace pc::serve
