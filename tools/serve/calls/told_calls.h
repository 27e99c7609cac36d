// Calls of tools as a template tells its model to write them, where it writes none itself: what was
// called before stands then in the text of the answers that called, as the model wrote it.
//
// Pure. Threads: any.
#pragma once

#include <optional>
#include <string_view>

#include "tools/output/json.h"
#include "tools/serve/calls/call_shape.h"

namespace pc::serve {

// What a prompt's text says of how calls are written; nothing where it says it in none of two ways:
//   an example, <tool_call>{"name": <function-name>, "arguments": <args>}</tool_call>
//   a sentence, "<|tool_call|> followed by a JSON list of tools"
std::optional<CallShape> told_call_shape(std::string_view prompt);

// The message without its calls, which stand behind its text now. The words around them may be
// control tokens; what is called, and with what, are text.
cli::Json with_told_calls(const cli::Json& message, const CallShape& shape);

}  // namespace pc::serve
