// Learns how a model writes calls of tools from what its own chat template writes of calls that are
// known; or, where it writes none, from what it tells the model of them.
//
// Pure, but for what renders. Threads: any.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runtime/calls/shape/call_shape.h"
#include "runtime/json/json_value.h"

namespace pc::calls {

// The text of a conversation ("messages" and "tools", as templates take them), or nothing where the
// template refuses it.
using RenderConversation = std::function<std::optional<std::string>(const Json& conversation)>;

// Nothing where the template writes no calls and says nothing of them that is understood, or writes
// them in none of these shapes. What was learned from calls reads them.
std::optional<CallShape> learn_call_shape(const RenderConversation& render);

}  // namespace pc::calls
