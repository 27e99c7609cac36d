// A text cut into spans, for what must not depend on where it is cut.
#pragma once

#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "runtime/tokenizer/text/tokenizer.h"

namespace pc::test {

// Cut in front of characters that their bytes choose; every other span is markup where
// `alternating`, and one is empty. Precondition: valid UTF-8.
inline std::vector<pml::TextSpan> cut_spans(std::string_view text, bool alternating) {
  std::vector<pml::TextSpan> spans;
  std::size_t begin = 0, at = 0;
  while (at < text.size()) {
    if (at > begin && static_cast<unsigned char>(text[at]) * 37u % 5 == 0) {
      spans.push_back({text.substr(begin, at - begin), alternating && spans.size() % 2 == 0});
      if (spans.size() == 2) spans.push_back({"", alternating});
      begin = at;
    }
    utf8_next(text, &at);
  }
  spans.push_back({text.substr(begin), alternating && spans.size() % 2 == 0});
  return spans;
}

inline Tokens flat(const std::vector<Tokens>& tokens) {
  Tokens out;
  for (const Tokens& part : tokens) out.insert(out.end(), part.begin(), part.end());
  return out;
}

// Ends the program unless a text has the same tokens, or none, whole and in spans, and
// markup has ids of the vocabulary. For fuzz targets.
inline void require_spans(const Tokenizer& tokenizer, std::string_view text, bool opens) {
  const auto require = [](bool promise) {
    if (!promise) std::abort();
  };
  const pml::TextSpan whole{text};
  const auto cuts = cut_spans(text, false), turns = cut_spans(text, true);
  const auto tokens = tokenizer.encode_spans(cuts, opens);
  const auto uncut = tokenizer.encode_spans({&whole, 1}, opens);
  require(tokens.ok() == uncut.ok());
  if (tokens.ok()) require(tokens->size() == cuts.size() && flat(*tokens) == (*uncut)[0]);
  const auto markup = tokenizer.encode_spans(turns, opens);
  if (!markup.ok()) return;
  for (const TokenId id : flat(*markup))
    require(id >= 0 && static_cast<std::uint32_t>(id) < tokenizer.vocab_size());
}

}  // namespace pc::test
