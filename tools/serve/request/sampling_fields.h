// How a request says that tokens are to be drawn: the fields that OpenAI's protocols share, and
// llama-server's beside them.
#pragma once

#include <string>

#include "tools/serve/request/fields.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

// Reads them into the question, and "model", "user", "n" and prompt_cache with them. Throws
// ApiError, 404 where the request is for another model.
void read_sampling(Fields& fields, const ModelFacts& model, Question* question);

// What nobody read of the request, and what was made of it: into the question. Last of all.
void tell_unread(const Fields& fields, Question* question);

// Which states the prompt may use: prompt_cache.mode, or llama-server's cache_prompt.
void read_mode(Fields& fields, Question* question);

// The request's model must be this one, or be left open.
void check_model(Fields& fields, const std::string& model);
void check_model(const std::string& asked, const std::string& model);

}  // namespace pc::serve
