// The answer to a request of OpenAI's Responses protocol, whole or in events; it is remembered
// where the request wants that.
#pragma once

#include <memory>

#include "tools/serve/answer/delivery.h"
#include "tools/serve/openai/responses_request.h"
#include "tools/serve/openai/stored_responses.h"

namespace pc::serve {

// Borrows what is stored. model: its name.
std::unique_ptr<AnswerWriter> responses_writer(const ResponsesRequest& request,
                                               const std::string& model, StoredResponses* stored);

}  // namespace pc::serve
