// Parts what a model thinks from what it says, while the answer grows. Only what an answer begins
// with may be a thought.
//
// A state machine over the text whose meaning is not certain yet. Threads: one at a time.
#pragma once

#include <string>
#include <string_view>

#include "tools/serve/request/thought_shape.h"

namespace pc::serve {

struct ThoughtPiece {
  std::string thought, said;
};

class ThoughtStream {
 public:
  // Of a model without thoughts all is said. is_thinking: the prompt has opened the thought.
  ThoughtStream(const std::optional<ThoughtShape>& shape, bool is_thinking);

  ThoughtPiece push(std::string_view text);
  // The answer is over: what is still held.
  ThoughtPiece finish();

  bool is_thinking() const { return state_ == State::kThought; }

 private:
  enum class State { kBegin, kThought, kBehind, kSaid };

  bool step(ThoughtPiece* piece);
  bool take_begin();
  bool take_thought(ThoughtPiece* piece);

  const ThoughtShape shape_;
  State state_;
  bool has_thought_ = false;  // something else than white space
  std::string held_;
};

}  // namespace pc::serve
