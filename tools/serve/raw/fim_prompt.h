// Prompts for models that fill in the middle: what stands around a gap, as they are trained on it.
// Values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/serve/request/question.h"

namespace pc::serve {

// The model's control tokens for it.
struct FimTokens {
  std::int32_t prefix = -1, suffix = -1, middle = -1, repo = -1, file = -1;  // -1: it has none
  bool are_there() const { return prefix >= 0 && suffix >= 0 && middle >= 0; }
};

// Another file that is shown to whoever fills a gap.
struct FimFile {
  std::string name, text;
};

// The prompt that asks for the text between two others, in the form that such models are trained
// on; the answer is to begin with `begun`. Control tokens that the texts spell are text.
// Precondition: are_there().
RawPrompt fim_prompt(const FimTokens& tokens, const std::string& before, const std::string& after,
                     const std::vector<FimFile>& files = {}, const std::string& begun = {});

}  // namespace pc::serve
