// Where the answer to a request of OpenAI's Responses protocol goes: to its client, whole or in
// events, and to those that are remembered.
#pragma once

#include <memory>

#include "tools/serve/answer/answer_sink.h"
#include "tools/serve/answer/reply_sink.h"
#include "tools/serve/openai/responses_request.h"
#include "tools/serve/openai/stored_responses.h"

namespace pc::serve {

// Borrows what is stored. model: its name.
std::unique_ptr<AnswerSink> responses_sink(const ResponsesRequest& request,
                                           const std::string& model, StoredResponses* stored,
                                           std::shared_ptr<Reply> reply);

}  // namespace pc::serve
