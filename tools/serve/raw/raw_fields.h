// Reads raw prompts of requests, of OpenAI's and llama.cpp's protocols. Throws ApiError.
#pragma once

#include <vector>

#include "tools/serve/raw/fim_prompt.h"
#include "tools/serve/request/fields.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

// What a list may hold beside texts alone, tokens alone, and lists of tokens.
enum class Mixture {
  kNone,
  kLlama  // texts and tokens in turn, and objects {"prompt_string"}
};

// The field `name`: a text, a list of tokens, or a list of those, each a prompt.
std::vector<RawPrompt> read_prompts(Fields& fields, const ModelFacts& model, Mixture mixture,
                                    const char* name = "prompt");

// Throws where the model has no tokens for filling in the middle. name: the field that wants them.
FimTokens fim_tokens(const Fields& fields, const ModelFacts& model, const char* name);

}  // namespace pc::serve
