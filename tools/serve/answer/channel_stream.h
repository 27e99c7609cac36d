// Parts an answer of a model that writes messages in channels, as gpt-oss does, while it grows:
//
//   <|channel|>analysis<|message|>THOUGHT<|end|><|start|>assistant<|channel|>final<|message|>TEXT
//   <|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{...}<|call|>
//
// Of a message the channel "analysis" is thought, and what has a recipient is a call, whose name
// may stand on either side of the channel; all others are said. An answer that begins otherwise is
// text.
//
// A state machine over the text whose meaning is not certain yet. Threads: one at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/serve/request/thought_shape.h"

namespace pc::serve {

struct ChannelPiece {
  enum class Kind { kThought, kText, kCall, kArguments, kCallEnd } kind = Kind::kText;
  std::string text;  // of kCall its name

  friend bool operator==(const ChannelPiece&, const ChannelPiece&) = default;
};

// Does a model whose template writes thoughts so write in channels?
bool is_in_channels(const ThoughtShape& shape);

class ChannelStream {
 public:
  // reads_calls: else what has a recipient is said.
  explicit ChannelStream(bool reads_calls) : reads_calls_(reads_calls) {}

  std::vector<ChannelPiece> push(std::string_view text);
  // The answer is over: what is still held. ends_turn: by a token that ends the turn, as the one
  // behind a call does, which is no part of the text.
  std::vector<ChannelPiece> finish(bool ends_turn);

  bool is_thinking() const {
    return state_ == State::kBody && kind_ == ChannelPiece::Kind::kThought;
  }

 private:
  enum class State {
    kBegin,   // of the answer: a header comes, or text
    kHeader,  // in what stands in front of a message's body
    kBody,
    kBehind  // a message: the next one's header comes behind its role
  };

  bool step(std::vector<ChannelPiece>* pieces);
  bool take_begin();
  bool take_header(std::vector<ChannelPiece>* pieces);
  bool take_body(std::vector<ChannelPiece>* pieces);
  bool take_behind();
  void say(std::string_view text, std::vector<ChannelPiece>* pieces) const;

  const bool reads_calls_;
  State state_ = State::kBegin;
  ChannelPiece::Kind kind_ = ChannelPiece::Kind::kText;  // of the body
  std::string held_;
};

}  // namespace pc::serve
