// Reads requests about whole texts: OpenAI's, llama.cpp's and Ollama's for vectors, and those that
// Cohere and Jina brought up for documents that are put in order. All throw ApiError.
#pragma once

#include "tools/serve/request/fields.h"
#include "tools/serve/texts/text_job.h"

namespace pc::serve {

EmbedRequest read_openai_embeddings(const Json& body, const ModelFacts& model);
EmbedRequest read_llama_embedding(const Json& body, const ModelFacts& model);
EmbedRequest read_ollama_embed(const Json& body, const ModelFacts& model);
// The older route, of one text.
EmbedRequest read_ollama_embeddings(const Json& body, const ModelFacts& model);

RankRequest read_rerank(const Json& body);

}  // namespace pc::serve
