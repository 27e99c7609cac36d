#include "tools/serve/answer/channel_stream.h"

#include <algorithm>
#include <utility>

namespace pc::serve {
namespace {

using Kind = ChannelPiece::Kind;

constexpr std::string_view kChannel = "<|channel|>", kMessage = "<|message|>", kStart = "<|start|>";
constexpr std::string_view kRecipient = "to=", kFunctions = "functions.", kAnalysis = "analysis";
// What a message's body ends with. Another's start ends it, too, whatever was forgotten.
constexpr std::string_view kEnds[] = {"<|end|>", "<|call|>", "<|return|>", kStart};
// What the first header may begin with.
constexpr std::string_view kBegins[] = {kChannel, " to=", "to="};

// How much of the text's end may be the beginning of one of the words.
std::size_t cut_at_end(std::string_view text) {
  std::size_t most = 0;
  for (const std::string_view word : kEnds) {
    std::size_t n = std::min(word.size() - 1, text.size());
    while (n > most && !word.starts_with(text.substr(text.size() - n))) --n;
    most = std::max(most, n);
  }
  return most;
}

// What stands behind a word in a header, up to white space or the next control token.
std::string_view word_behind(std::string_view header, std::string_view word) {
  const std::size_t at = header.find(word);
  if (at == header.npos) return {};
  const std::string_view rest = header.substr(at + word.size());
  return rest.substr(0, rest.find_first_of(" <\n"));
}

}  // namespace

bool is_in_channels(const ThoughtShape& shape) {
  return shape.open.starts_with(kChannel) && shape.open.ends_with(kMessage);
}

std::vector<ChannelPiece> ChannelStream::push(std::string_view text) {
  held_ += text;
  std::vector<ChannelPiece> pieces;
  while (step(&pieces)) {
  }
  return pieces;
}

// A header that was cut off says nothing.
std::vector<ChannelPiece> ChannelStream::finish(bool ends_turn) {
  std::vector<ChannelPiece> pieces;
  const bool is_within_call = state_ == State::kBody && kind_ == Kind::kArguments;
  if (state_ == State::kBegin || state_ == State::kBody) say(held_, &pieces);
  if (is_within_call && ends_turn) pieces.push_back({Kind::kCallEnd, ""});
  held_.clear();
  return pieces;
}

bool ChannelStream::step(std::vector<ChannelPiece>* pieces) {
  switch (state_) {
    case State::kBegin:
      return take_begin();
    case State::kHeader:
      return take_header(pieces);
    case State::kBody:
      return take_body(pieces);
    case State::kBehind:
      return take_behind();
  }
  return false;
}

bool ChannelStream::take_begin() {
  const std::string_view text = held_;
  const auto may_come = [&](std::string_view word) { return word.starts_with(text); };
  const auto is_there = [&](std::string_view word) { return text.starts_with(word); };
  if (std::ranges::any_of(kBegins, is_there)) {
    state_ = State::kHeader;
    return true;
  }
  if (std::ranges::any_of(kBegins, may_come)) return false;
  state_ = State::kBody;
  return true;
}

bool ChannelStream::take_header(std::vector<ChannelPiece>* pieces) {
  const std::size_t end = held_.find(kMessage);
  if (end == held_.npos) return false;
  const std::string_view header = std::string_view(held_).substr(0, end);
  std::string_view recipient = word_behind(header, kRecipient);
  if (recipient.starts_with(kFunctions)) recipient.remove_prefix(kFunctions.size());
  const bool is_call = reads_calls_ && !recipient.empty();
  kind_ = is_call                                      ? Kind::kArguments
          : word_behind(header, kChannel) == kAnalysis ? Kind::kThought
                                                       : Kind::kText;
  if (is_call) pieces->push_back({Kind::kCall, std::string(recipient)});
  held_.erase(0, end + kMessage.size());
  state_ = State::kBody;
  return true;
}

bool ChannelStream::take_body(std::vector<ChannelPiece>* pieces) {
  std::size_t end = held_.npos;
  std::string_view by;
  for (const std::string_view word : kEnds)
    if (const std::size_t at = held_.find(word); at < end) end = at, by = word;
  const bool is_over = end != held_.npos;
  if (!is_over) end = held_.size() - cut_at_end(held_);
  say(std::string_view(held_).substr(0, end), pieces);
  held_.erase(0, end);
  if (!is_over) return false;
  if (kind_ == Kind::kArguments) pieces->push_back({Kind::kCallEnd, ""});
  if (by != kStart) held_.erase(0, by.size());
  state_ = State::kBehind;
  return true;
}

bool ChannelStream::take_behind() {
  const std::size_t start = held_.find(kStart);
  if (start == held_.npos) return false;
  held_.erase(0, start + kStart.size());
  state_ = State::kHeader;
  return true;
}

void ChannelStream::say(std::string_view text, std::vector<ChannelPiece>* pieces) const {
  if (!text.empty()) pieces->push_back({kind_, std::string(text)});
}

}  // namespace pc::serve
