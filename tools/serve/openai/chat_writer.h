// Answers as OpenAI's protocol of conversations writes them, in chunks or whole.
#pragma once

#include <memory>

#include "tools/serve/answer/delivery.h"
#include "tools/serve/models/served_model.h"
#include "tools/serve/openai/openai_request.h"

namespace pc::serve {

// Borrows the model.
std::unique_ptr<AnswerWriter> openai_chat_writer(const OpenAiRequest& request,
                                                 const ServedModel& model);

}  // namespace pc::serve
