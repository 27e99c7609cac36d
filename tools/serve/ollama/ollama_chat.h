// Reads requests as Ollama takes them: /api/chat and /api/generate. Throws ApiError.
#pragma once

#include "tools/serve/ollama/ollama_request.h"
#include "tools/serve/request/fields.h"

namespace pc::serve {

OllamaRequest read_ollama_chat(const Json& body, const ModelFacts& model);
OllamaRequest read_ollama_generate(const Json& body, const ModelFacts& model);

}  // namespace pc::serve
