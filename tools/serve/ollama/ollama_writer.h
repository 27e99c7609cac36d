// Answers in Ollama's protocol: a line of JSON for each piece, or one for all.
#pragma once

#include <memory>
#include <string>

#include "tools/serve/answer/delivery.h"
#include "tools/serve/ollama/ollama_request.h"

namespace pc::serve {

// model: as the request calls it.
std::unique_ptr<AnswerWriter> ollama_writer(const OllamaRequest& request, const std::string& model);

// To a request that asks for nothing.
Json ollama_loaded(const OllamaRequest& request, const std::string& model);

// RFC 3339. seconds: since 1970.
std::string ollama_time(std::int64_t seconds);

}  // namespace pc::serve
