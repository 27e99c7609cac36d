// The tokenizer that a GGUF file carries, under keys "tokenizer.*".
//
// tokenizer.ggml.model "llama" is sentencepiece's BPE, and "gpt2" a byte-level
// BPE whose splitting rules tokenizer.ggml.pre names. Both become what the
// publisher's own files would give, with the same ids:
//   control tokens (type 3) and unknown ones (2) are never found in text;
//   user-defined ones (4) of "gpt2" are added tokens that are text, but for those
//   that look like control tokens (is_control);
//   those of "llama" are words of the vocabulary, as in tokenizer.model, but for
//   those that the chat template spells and all of Phi-3's, which are control;
//   unused ones (5) are never found.
// What ends or opens a turn is a control token, whatever type a converter gave it.
// Phi-3 (by general.architecture or general.name) swallows white space behind its
// control tokens. docs/TOKENIZERS.md lists what else a file cannot say.
// A "llama" file without all 256 byte tokens (6) has no byte fallback: what its
// vocabulary lacks is the unknown token.
// Where a file does not say, BOS stands in front of "llama"'s texts, and of
// those pre-tokenisers' whose publishers do so. add_eos_token is of texts that are embedded:
// no prompt ends with EOS.
//
// Threads: any.
#pragma once

#include <memory>

#include "base/status.h"
#include "runtime/checkpoint/gguf.h"
#include "runtime/tokenizer/text/tokenizer.h"

namespace pc {

// The metadata need not outlive the call. Errors: kCorrupt, kUnsupported, naming
// file and key.
Result<std::unique_ptr<Tokenizer>> make_gguf_tokenizer(const GgufMetadata& metadata);

}  // namespace pc
