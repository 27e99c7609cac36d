// The tokenizer among a model's files, whichever kind it is.
//
// Threads: any.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "runtime/tokenizer/text/tokenizer.h"

namespace pc {

// Loads the tokenizer of a GGUF file, or that of a Hugging Face folder:
// tokenizer.model (sentencepiece), else tokenizer.json (BPE); with
// tokenizer_config.json, special_tokens_map.json, added_tokens.json and
// chat_template.jinja where they exist. Errors name the file and the field, and
// what is supported.
Result<std::unique_ptr<Tokenizer>> load_tokenizer(const std::string& path);

}  // namespace pc
