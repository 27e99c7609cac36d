// POST /v1/messages: Anthropic's protocol of conversations.
#pragma once

#include <memory>

#include "tools/serve/answer_sink.h"
#include "tools/serve/question.h"
#include "tools/serve/reply_sink.h"
#include "tools/serve/served_model.h"

namespace pc::serve {

struct AnthropicRequest {
  Question question;
  bool streams = false;
};

// counts: for count_tokens, which needs no max_tokens. Throws ApiError.
AnthropicRequest read_anthropic(const Json& body, const ModelFacts& model, bool counts);

std::unique_ptr<AnswerSink> anthropic_sink(const AnthropicRequest& request,
                                           const ServedModel& model, std::shared_ptr<Reply> reply);

}  // namespace pc::serve
