// Answers in the native protocol of llama.cpp's server.
#pragma once

#include <memory>

#include "tools/serve/answer/delivery.h"
#include "tools/serve/llama/llama_request.h"
#include "tools/serve/models/served_model.h"

namespace pc::serve {

// Borrows the model.
std::unique_ptr<AnswerWriter> llama_writer(const LlamaRequest& request, const ServedModel& model);

// "generation_settings": what a question's answers are drawn by.
Json llama_settings(const Question& question, const ModelFacts& model);

}  // namespace pc::serve
