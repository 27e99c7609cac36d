#include "runtime/tokenizer/text/joint_text.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace pc {

Result<JointText> JointText::join(std::span<const pml::TextSpan> spans) {
  JointText out;
  for (const pml::TextSpan& span : spans) {
    const std::size_t begin = out.text_.size();
    if (span.text.size() > kMaxTextBytes - begin) {
      return error(Code::kInvalidArgument, "the text has more than " +
                                               std::to_string(kMaxTextBytes) +
                                               " bytes; that is the most that is encoded at once");
    }
    const std::size_t valid = utf8_valid_prefix(span.text);
    if (valid != span.text.size()) {
      return error(Code::kInvalidArgument,
                   "the text is not valid UTF-8 at byte " + std::to_string(begin + valid));
    }
    out.text_ += span.text;
    const std::size_t end = out.text_.size();
    out.ends_.push_back(end);
    if (begin == end) continue;
    if (!out.regions_.empty() && out.regions_.back().markup == span.markup) {
      out.regions_.back().end = end;
    } else {
      out.regions_.push_back({begin, end, span.markup});
    }
  }
  out.tokens_.resize(spans.size());
  return out;
}

// The one that holds the byte: an empty span holds none.
std::size_t JointText::span_at(std::size_t at) const {
  const auto place = std::upper_bound(ends_.begin(), ends_.end(), at);
  return static_cast<std::size_t>(place - ends_.begin());
}

std::vector<std::size_t> JointText::borders_inside(std::size_t begin, std::size_t end) const {
  std::vector<std::size_t> borders;
  for (std::size_t i = span_at(begin); i < ends_.size() && ends_[i] < end; ++i) {
    const std::size_t border = ends_[i] - begin;
    if (borders.empty() || borders.back() != border) borders.push_back(border);
  }
  return borders;
}

void JointText::add(TokenId token, std::size_t at) {
  tokens_[span_at(at)].push_back(token);
}

void JointText::add(const Tokens& tokens, std::size_t at, std::span<const std::size_t> counts) {
  std::size_t span = span_at(at), first = 0;
  const auto take = [&](std::size_t end) {
    tokens_[span].insert(tokens_[span].end(), tokens.begin() + static_cast<std::ptrdiff_t>(first),
                         tokens.begin() + static_cast<std::ptrdiff_t>(end));
    first = end;
  };
  for (const std::size_t count : counts) {
    take(count);
    span = span_at(ends_[span]);  // past empty ones
  }
  take(tokens.size());
}

}  // namespace pc
