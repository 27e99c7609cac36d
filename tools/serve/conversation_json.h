// Messages and tools as a client writes them, in the form that chat templates take.
#pragma once

#include "tools/serve/fields.h"

namespace pc::serve {

// OpenAI's "messages", whose contents may be lists of parts, and arguments of calls JSON in a
// string. Throws ApiError, which names the message.
Json messages_of(const Json& messages);

// OpenAI's "tools".
Json tools_of(const Json& tools);

}  // namespace pc::serve
