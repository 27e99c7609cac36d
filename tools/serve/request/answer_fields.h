// What a request says of the answer's form: whether it is JSON, and whether it calls tools.
//
// Pure; all throw ApiError. Threads: any.
#pragma once

#include <string>

#include "tools/serve/request/fields.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

// OpenAI's "response_format"; path: of its field. is_nested: a schema's fields stand in
// "json_schema", as in chats, not beside the type, as in responses.
Format openai_format(const Json& json, const std::string& path, bool is_nested);

// "tool_choice" of OpenAI's protocols. tools: as templates take them, or null.
ToolChoice openai_tool_choice(Fields& body, const Json& tools);
// That of Anthropic's.
ToolChoice anthropic_tool_choice(Fields& body, const Json& tools);

}  // namespace pc::serve
