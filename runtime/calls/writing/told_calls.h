// Calls of tools for templates that write no calls themselves and only tell the model, in the
// prompt, how to write them. Earlier calls of a conversation then stand in the text of the answers
// that made them, as the model wrote them.
//
// Pure. Threads: any.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/calls/shape/call_shape.h"
#include "runtime/json/json_value.h"

namespace pc::calls {

// The shape of calls that a prompt's text describes; nothing where it describes none in either of
// the two ways that are understood:
//   an example, <tool_call>{"name": <function-name>, "arguments": <args>}</tool_call>
//   a sentence, "<|tool_call|> followed by a JSON list of tools"
std::optional<CallShape> told_call_shape(std::string_view prompt);

// The message with its calls written into its text, at the end. The words of the shape may be
// control tokens; the tools' names and the arguments are plain text.
Json with_told_calls(const Json& message, const CallShape& shape);

}  // namespace pc::calls
