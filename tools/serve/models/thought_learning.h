// Learns how a model's chat template writes what the model thinks before it answers, from what the
// template makes of an answer with a thought that is known.
//
// Pure, but for what renders. Threads: any.
#pragma once

#include <optional>

#include "runtime/calls/writing/call_learning.h"
#include "tools/output/json.h"
#include "tools/serve/request/thought_shape.h"

namespace pc::serve {

using calls::RenderConversation;

// Nothing where the template writes no thoughts and takes none away. Conversations say themselves
// whether the model is asked ("add_generation_prompt").
std::optional<ThoughtShape> learn_thought_shape(const RenderConversation& render);

// Does the template open the thought itself where it asks the model? variables: what it is told
// besides, an object or null.
bool opens_thought(const ThoughtShape& shape, const cli::Json& variables,
                   const RenderConversation& render);

}  // namespace pc::serve
