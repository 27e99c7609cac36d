// POST /v1/messages: Anthropic's protocol of conversations.
#pragma once

#include <memory>

#include "tools/serve/answer/answer_sink.h"
#include "tools/serve/answer/reply_sink.h"
#include "tools/serve/models/served_model.h"
#include "tools/serve/request/question.h"

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
