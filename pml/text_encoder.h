// What PML asks of a model: how to turn text into tokens, and the strings of
// its chat roles. The tokenizer itself reaches this folder only as functions.
//
// A value that borrows: the functions must outlive every call that uses them.
// Threads: thread-compatible; the functions are called from the caller's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace pc {

using TokenId = std::int32_t;
using Position = std::int32_t;  // logical position in a prompt, 0-based; never an index
using Tokens = std::vector<TokenId>;

namespace pml {

// The strings around a turn. They may spell control tokens ("<|im_start|>user\n").
struct RoleStrings {
  std::string prefix;
  std::string suffix;
};

// What stands around one turn's content in one conversation, as the model's own
// template writes it there (runtime/chat/turn_texts.h).
struct TurnText {
  std::string open, close;
  // The template strips white space at that end of a content.
  bool trims_left = false, trims_right = false;

  friend bool operator==(const TurnText&, const TurnText&) = default;
};

// A conversation without its contents. `open`, content and `close` of all turns, one
// after the other, are the text; BOS, if any, is not part of it.
struct TurnTexts {
  std::vector<TurnText> turns;  // [n_turns]
  std::string answer;           // opens the assistant's turn after the last one; "": nothing does
  bool bos = false;             // the template spells BOS at the start

  friend bool operator==(const TurnTexts&, const TurnTexts&) = default;
};

// A model family's chat format, reduced to what concatenation can express: the
// strings around each role's text. Two families open the user's turn
// differently after a system or an assistant turn (Llama 2 puts the system
// text inside the first user turn), hence the two extra prefixes.
struct ChatTemplate {
  std::string name;  // "chatml"
  RoleStrings system, user, assistant;
  std::optional<std::string> user_prefix_after_system;  // instead of user.prefix
  std::optional<std::string> user_prefix_after_assistant;
  std::string generation_prefix;  // opens the assistant's turn to be generated
  // The model's end-of-sequence token, where the suffixes spell it.
  std::string eos = {};
  // A chat begins with BOS, also where the tokenizer adds none to a text.
  bool bos = false;
};

// A part of a text that is encoded as one: what a user wrote, or a string of the
// chat template, in which control tokens are recognised.
struct TextSpan {
  std::string_view text;
  bool markup = false;
};

struct TextEncoder {
  // One text run, taken as plain text: strings that spell control tokens stay
  // text. Every run is encoded on its own, so a module's tokens do not depend
  // on its neighbours.
  std::function<Result<Tokens>(std::string_view)> text;
  // The strings of the chat template, in which control tokens are recognised.
  std::function<Result<Tokens>(std::string_view)> markup;
  // The same where nothing but BOS stands before the string in any prompt: some
  // tokenizers put a space in front of a text, and give "[INST]" other tokens there.
  std::function<Result<Tokens>(std::string_view)> opening_markup;
  std::optional<TokenId> bos;        // stands once, at the start of every prompt
  TokenId placeholder = 0;           // stands in parameter slots while a module is encoded
  std::optional<ChatTemplate> chat;  // none: role elements are an error
};

}  // namespace pml
}  // namespace pc
