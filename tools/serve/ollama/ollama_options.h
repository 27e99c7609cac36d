// "options" of Ollama's requests: how tokens are drawn.
#pragma once

#include "tools/serve/request/fields.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

// What it does not say is Ollama's. Throws ApiError.
void read_ollama_options(Fields& body, const ModelFacts& model, Question* question);

}  // namespace pc::serve
