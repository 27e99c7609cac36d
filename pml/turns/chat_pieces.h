// A conversation whose text a chat format has written already, as a schema and a prompt: what
// stands before all modules is the schema's text, the modules are its modules, in the prompt's
// order.
//
// Pure. Threads: any.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "pml/syntax/prompt.h"
#include "pml/syntax/schema.h"

namespace pc::pml {

struct ChatPiece {
  std::string text;
  bool markup = false;                // control tokens count
  std::uint32_t module = UINT32_MAX;  // that it is a part of; else of none
};

inline constexpr const char* kChatSchema = "chat";

// `n_head` of the pieces, none of a module, stand before the modules wherever these are imported;
// modules are called "1", "2", ...; parts of one stand side by side. Without modules all is the
// prompt's.
std::pair<Schema, Prompt> chat_of_pieces(std::span<const ChatPiece> pieces, std::size_t n_head);

}  // namespace pc::pml
