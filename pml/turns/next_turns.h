// How a conversation goes on behind an answer: what the model's chat format writes between what
// was said and the turns that come next.
//
// A format may write a turn otherwise once others follow it (an answer loses its thoughts). What
// the model has read stays as it is where it is what the format would write now; otherwise the
// answer is read again as the format writes it. Pure. Threads: any.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pml/syntax/role.h"
#include "pml/turns/text_encoder.h"

namespace pc::pml {

// A conversation that waits for an answer, or has one whose turn is not closed.
struct OpenChat {
  std::vector<Role> roles;  // of its turns, without the answer's
  TurnTexts texts;          // of these turns; texts.answer opened the answer's
};

struct ChatTurn {
  Role role;
  std::string_view content;
};

// What the model said since the opening of its turn.
struct Answer {
  std::string_view text;
  // The bytes of its tokens, a space in front that the tokenizer adds to every text included.
  std::string_view bytes;
  bool as_read;  // the model has read all of it and no more, or is to read the rest yet
};

struct NextTurns {
  // Do the answer's states stay? If not, they and the answer's opening go, and `spans` begins
  // with them as the format writes them now.
  bool keeps_answer;
  // Markup in front of `spans` that the model has read. Where the answer's states go, the answer's
  // opening is tokenised as the continuation of this markup.
  std::string before;
  struct Span {
    std::string text;
    bool markup;
  };
  std::vector<Span> spans;  // to be read next, up to the next answer's opening
  // The index in `spans` of what the first new turn says; none where that turn is empty.
  std::optional<std::size_t> said = {};
  OpenChat chat;  // with the answer and the new turns
};

// Errors: kInvalidArgument unless the last turn is the user's; kUnsupported where the format
// writes the turns before the answer otherwise now, or has no such conversation.
Result<NextTurns> next_turns(const ChatFormat& format, const OpenChat& chat, const Answer& answer,
                             std::span<const ChatTurn> turns);

}  // namespace pc::pml
