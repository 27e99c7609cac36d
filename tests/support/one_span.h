// A text encoded by itself.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "runtime/tokenizer/text/tokenizer.h"

namespace pc::test {

// As the only span.
inline Result<Tokens> one_span(const Tokenizer& tokenizer, std::string_view text, bool markup,
                               bool opens) {
  const pml::TextSpan span{text, markup};
  PC_TRY(std::vector<Tokens> tokens, tokenizer.encode_spans({&span, 1}, opens));
  return std::move(tokens[0]);
}

// A string of markup that goes on.
inline Result<Tokens> markup_span(const Tokenizer& tokenizer, std::string_view markup) {
  return one_span(tokenizer, markup, true, false);
}

// In every way: whole, and as a span of text or markup that goes on or opens.
inline std::vector<Result<Tokens>> encodings(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<Result<Tokens>> out{tokenizer.encode(text)};
  for (const bool markup : {false, true}) {
    for (const bool opens : {false, true}) out.push_back(one_span(tokenizer, text, markup, opens));
  }
  return out;
}

// Do two tokenizers encode a text, and to the same ids in every way?
inline bool same_encodings(const Tokenizer& a, const Tokenizer& b, std::string_view text) {
  return std::ranges::equal(
      encodings(a, text), encodings(b, text),
      [](const auto& x, const auto& y) { return x.ok() && y.ok() && *x == *y; });
}

}  // namespace pc::test
