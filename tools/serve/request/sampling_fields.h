// How a request says that tokens are to be drawn: the fields that OpenAI's protocols share, and
// llama-server's beside them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/serve/request/fields.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

// Reads them into the question, and "model", "user", "n" and prompt_cache with them. Throws
// ApiError, 404 where the request is for another model. max_tokens: where the request says none.
void read_sampling(Fields& fields, const ModelFacts& model, Question* question,
                   std::optional<std::uint32_t> max_tokens = {});

// 0 and -1: all tokens.
std::uint32_t read_top_k(Fields& fields);

// A text or a list of at most so many, each of which ends the answer. An empty one ends none.
constexpr std::size_t kMostStops = 1024;
std::vector<std::string> read_stops(Fields& fields, const char* name);

// What nobody read of the request, and what was made of it: into the question. Last of all.
void tell_unread(const Fields& fields, Question* question);

// Which states the prompt may use: prompt_cache.mode, or llama-server's cache_prompt.
void read_mode(Fields& fields, Question* question);

}  // namespace pc::serve
