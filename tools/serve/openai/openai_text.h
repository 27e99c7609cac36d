// POST /v1/completions: OpenAI's older protocol, of bare text.
#pragma once

#include <memory>

#include "tools/serve/openai/openai_chat.h"

namespace pc::serve {

// Both throw ApiError.
OpenAiRequest read_openai_text(const Json& body, const ModelFacts& model);

// Of either protocol: what has no prompt has messages.
Question question_of(const Json& body, const ModelFacts& model);

std::unique_ptr<AnswerSink> openai_text_sink(const OpenAiRequest& request, const ServedModel& model,
                                             std::shared_ptr<Reply> reply);

}  // namespace pc::serve
