// Reads requests as llama.cpp's server takes them: /completion and /infill. Throws ApiError.
#pragma once

#include "tools/serve/llama/llama_request.h"

namespace pc::serve {

LlamaRequest read_llama_completion(const Json& body, const ModelFacts& model);
LlamaRequest read_llama_infill(const Json& body, const ModelFacts& model);

// With which it draws where a request says nothing else.
Sampling llama_defaults();

}  // namespace pc::serve
