// Spans that stand side by side, joined into one text. The tokens of that text are dealt
// back to the spans.
//
// A move-only owner of the text and the tokens; thread-compatible.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pml/turns/text_encoder.h"  // TextSpan, TokenId, Tokens
#include "runtime/tokenizer/text/text_cuts.h"

namespace pc {

// Longest text that is encoded at once: a PML document and a file it names have
// at most 4 MiB each.
inline constexpr std::size_t kMaxTextBytes = std::size_t{8} << 20;

class JointText {
 public:
  // Errors: kInvalidArgument for a span that is not UTF-8, naming the byte of the
  // whole text, and for more than kMaxTextBytes.
  static Result<JointText> join(std::span<const pml::TextSpan> spans);

  std::string_view text() const { return text_; }

  // Neighbouring spans of one kind, text or markup, make one region: strings of the template
  // that touch are one string.
  struct Region {
    std::size_t begin, end;
    bool markup;
  };
  const std::vector<Region>& regions() const { return regions_; }  // in order, none empty

  // The borders between spans that lie inside [begin, end), as offsets from begin.
  std::vector<std::size_t> borders_inside(std::size_t begin, std::size_t end) const;

  // A token that begins at `at`. Tokens must come in the order of the text.
  void add(TokenId token, std::size_t at);

  // The tokens of the part from `at` on; counts[i] of them begin before its i-th border.
  void add(const Tokens& tokens, std::size_t at, std::span<const std::size_t> counts);

  std::vector<Tokens> take_tokens() && { return std::move(tokens_); }  // [n_spans]

 private:
  std::size_t span_at(std::size_t at) const;

  std::string text_;
  std::vector<std::size_t> ends_;  // [n_spans] where each ends, not decreasing
  std::vector<Region> regions_;
  std::vector<Tokens> tokens_;  // [n_spans]
};

}  // namespace pc
