// The calls of tools that a whole text is, as the model's template writes them (call_stream.h reads
// a text that grows).
//
// Pure. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/calls/shape/call_shape.h"
#include "runtime/calls/shape/tool_call.h"
#include "runtime/calls/shape/tool_types.h"

namespace pc::calls {

// What an answer comes to: text, then calls.
struct ReadAnswer {
  std::string text;
  std::vector<ToolCall> calls;

  friend bool operator==(const ReadAnswer&, const ReadAnswer&) = default;
};

// What an answer is looked through for: the first word of what calls begin with; "" where an answer
// is a call by being nothing else.
std::string_view call_trigger(const CallShape& shape);

// The calls that a text begins with, and what stands behind them; nothing where it is no call.
std::optional<ReadAnswer> read_calls(const CallShape& shape, const ToolTypes& types,
                                     std::string_view text);

}  // namespace pc::calls
