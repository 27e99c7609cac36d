// Anthropic's "system", "messages" and "tools" in the form that chat templates take.
#pragma once

#include "tools/serve/request/fields.h"

namespace pc::serve {

// A system text, as a string or in blocks, becomes the first message; a tool's use becomes a call,
// and its result a message of its own. Throws ApiError, which names the block.
Json anthropic_messages(Fields& body);

// null where there are none.
Json anthropic_tools(Fields& body);

}  // namespace pc::serve
