// Where the answer to a request of OpenAI's Responses protocol goes: to its client, whole or in
// events, and to those that are remembered.
#pragma once

#include <memory>

#include "tools/serve/answer_sink.h"
#include "tools/serve/reply_sink.h"
#include "tools/serve/responses_request.h"
#include "tools/serve/stored_responses.h"

namespace pc::serve {

// Borrows what is stored. model: its name.
std::unique_ptr<AnswerSink> responses_sink(const ResponsesRequest& request,
                                           const std::string& model, StoredResponses* stored,
                                           std::shared_ptr<Reply> reply);

}  // namespace pc::serve
