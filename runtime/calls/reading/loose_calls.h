// Calls of tools that a model writes otherwise than its template does: as bare JSON, or as JSON
// between fences.
//
// Pure. Threads: any.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/calls/shape/tool_call.h"
#include "runtime/calls/shape/tool_types.h"

namespace pc::calls {

// The calls that a text is, bare or one fenced block; nothing where it is anything else. One is an
// object with the name of a known tool and an object of arguments, or of parameters; several
// stand in a list or behind each other.
std::optional<std::vector<ToolCall>> read_loose_calls(std::string_view text,
                                                      const ToolTypes& types);

// May a text that begins with a bracket become such calls? The first key and, where that is the
// name, its value tell.
enum class Likeness { kNone, kOpen /* more of it is needed */, kLikely };
Likeness likeness_of_call(std::string_view text, const ToolTypes& types);

}  // namespace pc::calls
