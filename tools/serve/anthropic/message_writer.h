// Answers as Anthropic's protocol writes them, in named events or whole.
#pragma once

#include <memory>

#include "tools/serve/answer/delivery.h"
#include "tools/serve/anthropic/anthropic.h"

namespace pc::serve {

// model: its name.
std::unique_ptr<AnswerWriter> anthropic_writer(const AnthropicRequest& request,
                                               const std::string& model);

}  // namespace pc::serve
