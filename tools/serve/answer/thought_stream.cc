#include "tools/serve/answer/thought_stream.h"

#include <algorithm>
#include <utility>

namespace pc::serve {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::size_t first_of(std::string_view text) {
  return std::min(text.find_first_not_of(kSpace), text.size());
}

// How much of the text's end may be the beginning of the word.
std::size_t cut_at_end(std::string_view text, std::string_view word) {
  std::size_t n = std::min(word.size() - 1, text.size());
  while (n > 0 && !word.starts_with(text.substr(text.size() - n))) --n;
  return n;
}

}  // namespace

ThoughtStream::ThoughtStream(const std::optional<ThoughtShape>& shape, bool is_thinking)
    : shape_(shape.value_or(ThoughtShape{})),
      state_(!shape        ? State::kSaid
             : is_thinking ? State::kThought
                           : State::kBegin) {}

ThoughtPiece ThoughtStream::push(std::string_view text) {
  held_ += text;
  ThoughtPiece piece;
  while (step(&piece)) {
  }
  return piece;
}

bool ThoughtStream::step(ThoughtPiece* piece) {
  switch (state_) {
    case State::kBegin:
      return take_begin();
    case State::kThought:
      return take_thought(piece);
    case State::kBehind:  // white space between the thought and the answer is neither's
      held_.erase(0, first_of(held_));
      if (held_.empty()) return false;
      state_ = State::kSaid;
      return true;
    case State::kSaid:
      piece->said += std::exchange(held_, {});
      return false;
  }
  return false;
}

bool ThoughtStream::take_begin() {
  const std::string_view text = std::string_view(held_).substr(first_of(held_));
  if (text.starts_with(shape_.open)) {
    held_ = std::string(text.substr(shape_.open.size()));
    state_ = State::kThought;
    return true;
  }
  if (std::string_view(shape_.open).starts_with(text)) return false;
  state_ = State::kSaid;
  return true;
}

// The white space at the thought's ends is the template's.
bool ThoughtStream::take_thought(ThoughtPiece* piece) {
  if (!has_thought_) held_.erase(0, first_of(held_));
  has_thought_ = !held_.empty();
  const std::size_t close = held_.find(shape_.close);
  const bool is_over = close != held_.npos;
  const std::size_t most = is_over ? close : held_.size() - cut_at_end(held_, shape_.close);
  const std::size_t end = std::string_view(held_).substr(0, most).find_last_not_of(kSpace) + 1;
  piece->thought += held_.substr(0, end);
  held_.erase(0, is_over ? close + shape_.close.size() : end);
  if (is_over) state_ = State::kBehind;
  return is_over;
}

ThoughtPiece ThoughtStream::finish() {
  ThoughtPiece piece;
  std::string* const to = state_ == State::kThought ? &piece.thought : &piece.said;
  if (state_ != State::kBehind) *to = std::exchange(held_, {});
  return piece;
}

}  // namespace pc::serve
