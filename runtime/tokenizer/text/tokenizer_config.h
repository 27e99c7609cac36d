// What the small files beside a vocabulary say about it: tokenizer_config.json,
// special_tokens_map.json, added_tokens.json and chat_template.jinja. Each may
// be absent; what is there must be sound. Of config.json only the model's
// vocab_size is read, and its faults are left to who reads the model.
//
// A value, thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/json/json.h"
#include "runtime/tokenizer/text/added_tokens.h"
#include "runtime/tokenizer/text/fim_tokens.h"

namespace pc {

// Ids above it are refused: no published vocabulary is half as large.
inline constexpr std::int64_t kMaxVocabSize = std::int64_t{1} << 20;
inline constexpr std::size_t kMaxTokenBytes = 4096;  // of one added token or vocabulary entry

struct TokenizerConfig {
  std::optional<std::string> bos, eos, unk;  // as spelled, e.g. "<s>"
  std::optional<bool> add_bos;
  std::optional<bool> add_eos;  // behind a whole text; no prompt ends so
  // Is a dummy prefix put behind added tokens too? Of sentencepiece's models.
  std::optional<bool> legacy;
  // transformers' own class LlamaTokenizer reads the files: it puts a dummy prefix by
  // `legacy` (absent: false), whatever tokenizer.json says, and none where the text
  // begins with a space.
  bool llama_class = false;
  std::optional<bool> add_prefix_space;         // false: that class puts no dummy prefix anywhere
  std::vector<TokenId> turn_ends;               // beside eos
  std::int64_t n_rows = kMaxVocabSize;          // of the model's embedding
  std::vector<AddedToken> added;                // with ids, from both files that list them
  std::set<std::string, std::less<>> specials;  // spellings that the files call special
  std::string chat_template;                    // Jinja text; "" if none
  FimTokens fim;                                // as far as a key names them
};

// Added tokens from n_rows on are left out: Gemma 3's text models have one, for
// images, which only the larger models can take.
// Precondition: the folder exists. Errors: kCorrupt, kIo, naming file and field.
Result<TokenizerConfig> read_tokenizer_config(const std::string& folder);

// One entry of a list of added tokens, in the form that tokenizer_config.json
// (where the id is the key) and tokenizer.json share. Absent flags are false.
Result<AddedToken> read_added_token(JsonView entry, std::int64_t id);

}  // namespace pc
