// The rules behind the names that GGUF files give to pre-tokenisers
// (tokenizer.ggml.pre): what the publishers' tokenizer.json says for each.
//
// Only names whose rules are known for certain are here; a name that is not is
// refused by whoever asks. Pure; threads: any.
#pragma once

#include <string>
#include <string_view>

namespace pc {

struct GgufPretokenizer {
  std::string_view name;       // "llama-bpe"
  std::string_view rules;      // a JSON object with "pre_tokenizer" and perhaps "normalizer"
  bool ignore_merges = false;  // a word that is in the vocabulary whole is that token
  bool add_bos = false;        // where the file does not say
};

// nullptr when the name is not known.
const GgufPretokenizer* find_gguf_pretokenizer(std::string_view name);

// "dbrx, deepseek-coder, ...": for messages.
std::string gguf_pretokenizer_names();

}  // namespace pc
