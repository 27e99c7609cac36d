// Tokenizers of the sentencepiece kind (tokenizer.model): Llama 2, Mistral,
// Gemma, TinyLlama. The home of the sentencepiece library.
//
// A token that the files declare special, and a user-defined piece spelled
// "<|...|>", is a control token here even where the model's own table says
// otherwise: the library would else find its spelling in plain text. Threads: any.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "runtime/tokenizer/text/tokenizer.h"
#include "runtime/tokenizer/text/tokenizer_config.h"

namespace pc {

// Errors: kNotFound, kIo, kCorrupt, kUnsupported, naming the file.
Result<std::unique_ptr<Tokenizer>> load_sentencepiece_tokenizer(const std::string& path,
                                                                const TokenizerConfig& config);

// The same from a file's bytes; `name` stands in messages.
Result<std::unique_ptr<Tokenizer>> make_sentencepiece_tokenizer(std::string_view bytes,
                                                                const std::string& name,
                                                                const TokenizerConfig& config);

}  // namespace pc
