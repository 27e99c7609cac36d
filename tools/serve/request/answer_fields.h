// What a request says of an answer's calls of tools.
//
// Pure; all throw ApiError. Threads: any.
#pragma once

#include <string>

#include "tools/serve/request/fields.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

// "tool_choice" of OpenAI's protocols. tools: as templates take them, or null; those
// that an allowed_tools does not name are taken out.
ToolChoice openai_tool_choice(Fields& body, Json* tools);
// That of Anthropic's. one_call: set where no more than one is wanted.
ToolChoice anthropic_tool_choice(Fields& body, const Json& tools, bool* one_call);

}  // namespace pc::serve
