// Makes the vectors of texts with a model, and writes them in each protocol.
//
// Threads: any; blocks as long as the model computes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/serve/models/served_model.h"
#include "tools/serve/texts/text_job.h"

namespace pc::serve {

struct Embeddings {
  std::vector<float> numbers;  // [texts, n_dimensions]
  std::size_t n_dimensions = 0;
  std::uint64_t n_tokens = 0;  // of all texts
  std::uint64_t took_us = 0;
};

// is_wanted: asked after each step. Throws ApiError, and Unwanted where it says no.
Embeddings embed(const ServedModel& model, const EmbedRequest& request,
                 const std::function<bool()>& is_wanted);

Json openai_embeddings(const Embeddings& made, const EmbedRequest& request,
                       const std::string& model);
Json llama_embeddings(const Embeddings& made);
Json ollama_embed(const Embeddings& made, const std::string& model);
Json ollama_embedding(const Embeddings& made);  // of the first text, on the older route

}  // namespace pc::serve
