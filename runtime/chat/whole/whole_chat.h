// The model's own template run over a whole conversation: with tools, their calls and results, and
// whatever else a template takes. A content of parts is given to it as a list where it writes the
// parts of that role itself (content_parts.h), else as one text.
//
// What comes of it is byte for byte what the template writes, with two exceptions. Where a text of
// the conversation spells a control token, the template is given that spelling with a mark in it,
// so that it stays text. And what stands in the template's text is cut where contents begin and
// end, as far as the template writes them once and unchanged (a mark in them shows it); elsewhere
// control tokens are recognised in all but those spellings, which comes to the same.
// Immutable. Threads: any.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "runtime/chat/program/chat_clock.h"
#include "runtime/chat/program/chat_program.h"
#include "runtime/chat/whole/chat_request.h"
#include "runtime/chat/whole/chat_text.h"
#include "runtime/chat/whole/content_parts.h"

namespace pc {

// Where the next spelling of a control token begins in text[from, ...).
using FindControl =
    std::function<std::optional<std::size_t>(std::string_view text, std::size_t from)>;

class WholeChat {
 public:
  WholeChat(ChatProgram program, ChatClock clock);

  // A conversation is of the time that the clock shows when it is written.
  // Errors: the template's own; kUnsupported: a last message that it changes and that is to be gone
  // on with; calls of tools that it would lose; more parts than there are marks.
  Result<ChatText> write(const ChatRequest& request, const FindControl& find_control) const;

 private:
  ChatProgram program_;
  ChatClock clock_;
  ContentParts forms_;
  bool drops_calls_;
};

}  // namespace pc
