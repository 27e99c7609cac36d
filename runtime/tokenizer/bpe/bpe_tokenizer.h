// Tokenizers with a byte-pair encoding, of tokenizer.json or of parts that came
// from elsewhere: over bytes (GPT-2, Llama 3, Qwen, SmolLM2) or over characters
// with byte fallback (Llama 2 and TinyLlama as published in that form).
//
// A feature that a file asks for and that is not supported is an error, which names the
// field and its type; nothing is skipped silently. Threads: any.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/json/json.h"
#include "runtime/tokenizer/bpe/bpe_model.h"
#include "runtime/tokenizer/text/tokenizer.h"
#include "runtime/tokenizer/text/tokenizer_config.h"

namespace pc {

// Errors: kNotFound, kIo, kCorrupt, kUnsupported, naming the file and the field.
Result<std::unique_ptr<Tokenizer>> load_bpe_tokenizer(const std::string& path,
                                                      const TokenizerConfig& config);

// The same from a document in memory, which need not outlive the call.
Result<std::unique_ptr<Tokenizer>> make_bpe_tokenizer(const JsonDocument& file,
                                                      const TokenizerConfig& config);

// All that makes a tokenizer, except the TokenizerConfig.
struct BpeParts {
  std::optional<JsonView> normalizer, pre_tokenizer;  // as in tokenizer.json
  BpeModel model;
  std::vector<AddedToken> added;
};

// The rules need not outlive the call. Errors: those of the rules.
Result<std::unique_ptr<Tokenizer>> make_bpe_tokenizer(BpeParts parts,
                                                      const TokenizerConfig& config);

}  // namespace pc
