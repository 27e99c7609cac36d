// "input" and "tools" of OpenAI's Responses protocol in the form that chat templates take.
#pragma once

#include "tools/serve/request/fields.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

// A string is a turn of the user's; of items, calls become part of the answer that they stand in,
// and their outputs messages of their own. Throws ApiError, which names the item.
Json responses_messages(Fields& body);

// Those that the prompt has, and what may be made of them. Throws ApiError.
Json responses_tools(Fields& body, const ModelFacts& model, ToolChoice* choice);

}  // namespace pc::serve
