// What PML asks of a model: how to turn text into tokens, and what stands
// around the turns of a chat. Tokenizer and template reach this folder only as
// functions.
//
// A value that borrows: the functions must outlive every call that uses them.
// Threads: thread-compatible; the functions are called from the caller's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pml/syntax/role.h"

namespace pc {

using TokenId = std::int32_t;
using Position = std::int32_t;  // logical position in a prompt, 0-based; never an index
using Tokens = std::vector<TokenId>;

namespace pml {

// A stretch of text that stands beside others. Control tokens are recognised in
// markup (the strings of a chat format) alone; elsewhere their spelling is text.
struct TextSpan {
  std::string_view text;
  bool markup = false;
};

// What stands around one turn's content in one conversation. It may spell
// control tokens ("<|im_start|>user\n").
struct TurnText {
  std::string open, close;
  // Does the format strip white space at this end of a content?
  bool trims_left = false, trims_right = false;

  friend bool operator==(const TurnText&, const TurnText&) = default;
};

// What an answer begins: a text of its own, such as a chat's turn, or more of a text that stands
// before it.
enum class Begins { kOwnText, kAmidText };

// A conversation without its contents. `open`, content and `close` of all turns, one
// after the other, are the text; BOS, if any, is not part of it.
struct TurnTexts {
  std::vector<TurnText> turns;  // [n_turns]
  std::string answer;           // opens the assistant's turn behind the last one; "": nothing does
  bool bos = false;             // the chat begins with BOS

  friend bool operator==(const TurnTexts&, const TurnTexts&) = default;
};

// A model's chat format: what it writes around the turns of a conversation.
struct ChatFormat {
  std::string name;  // "chatml"
  // Errors: a sentence without a place, where the format has no such conversation.
  std::function<Result<TurnTexts>(std::span<const Role>)> turns;
};

struct TextEncoder {
  // Spans that stand side by side, encoded as the one text that they are. The
  // result has the tokens of each span; a token that crosses a border belongs to
  // the span in which it begins. `opens`: nothing but BOS stands before them, so
  // that the tokenizer's rule for the start of a text counts.
  std::function<Result<std::vector<Tokens>>(std::span<const TextSpan>, bool opens)> encode;
  std::optional<TokenId> bos;      // stands once, at the start of every text
  TokenId placeholder = 0;         // stands in parameter slots while a module is encoded
  std::optional<ChatFormat> chat;  // none: role elements are an error

  // One span alone, which does not open the text.
  Result<Tokens> text(std::string_view text) const { return one({text, false}, false); }
  Result<Tokens> one(TextSpan span, bool opens) const {
    auto tokens = encode({&span, 1}, opens);
    if (!tokens.ok()) return std::move(tokens).error();
    return std::move((*tokens)[0]);
  }
};

}  // namespace pml
}  // namespace pc
