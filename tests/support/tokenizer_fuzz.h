// A hostile tokenizer followed by text: what the three targets that read tokenizers share.
#pragma once

#include <string>
#include <string_view>

#include "tests/support/cut_spans.h"
#include "tests/support/fuzz_bytes.h"
#include "tests/support/one_span.h"

namespace pc::test {

// Behind the last of these, an input is no tokenizer any more but a text for it.
inline constexpr std::string_view kTextMark{"\0text\0", 6};
// Every text is encoded in a dozen ways.
inline constexpr std::size_t kMaxFuzzedText = 2048;

struct TokenizerInput {
  std::string_view tokenizer, text;
};

inline TokenizerInput split_input(std::string_view input) {
  const std::size_t mark = input.rfind(kTextMark);
  if (mark == input.npos) return {input, {}};
  return {input.substr(0, mark), input.substr(mark + kTextMark.size()).substr(0, kMaxFuzzedText)};
}

inline void require_ids(const Tokenizer& tokenizer, const Tokens& tokens) {
  for (const TokenId id : tokens)
    require(id >= 0 && static_cast<std::uint32_t>(id) < tokenizer.vocab_size());
}

inline std::string spelled(const Tokenizer& tokenizer, const Tokens& tokens) {
  std::string out;
  for (const TokenId id : tokens) tokenizer.append_bytes(id, &out, Tokenizer::Controls::kSpell);
  return out;
}

// Ids of the vocabulary or a sentence, in every way of encoding; the same whole and in spans; and
// where the tokenizer is `lossless`, a text that comes back as it was, unless characters are left
// out.
inline void require_encodes(const Tokenizer& tokenizer, std::string_view text, bool lossless) {
  if (is_utf8(text))
    for (const bool opens : {true, false}) require_spans(tokenizer, text, opens);
  for (const auto& tokens : encodings(tokenizer, text)) {
    if (!tokens.ok()) {
      require(!tokens.error().message.empty());
      continue;
    }
    require(is_utf8(text));
    require_ids(tokenizer, *tokens);
    const std::string decoded = spelled(tokenizer, *tokens);
    require(!lossless || tokenizer.unspelled(text) || decoded == text);
  }
}

// The text of the input, and some that no mutation would find.
inline void require_encodes_all(const Tokenizer& tokenizer, std::string_view text,
                                bool lossless = false) {
  for (const std::string_view sample : {std::string_view(), std::string_view(" "),
                                        std::string_view("The city's  harbour, 1234!\n\n"),
                                        std::string_view(" ▁é日😀<s><|sep|><|im_end|>ﬁ e\u0301"),
                                        std::string_view("aaaaaaaaaaaaaaaaaaaaaaaa"), text})
    require_encodes(tokenizer, sample, lossless);
}

}  // namespace pc::test
