// Messages and tools as a client writes them, in the form that chat templates take.
#pragma once

#include <string>

#include "tools/serve/request/content_parts.h"
#include "tools/serve/request/fields.h"

namespace pc::serve {

// OpenAI's "messages", whose contents may be lists of parts, and arguments of calls JSON in a
// string. Throws ApiError, which names the message.
Json messages_of(Fields& body);

// OpenAI's "tools"; null where there are none.
Json tools_of(Fields& body);

// Of tools as templates take them, whichever protocol they came in: refuses two of one name, since
// nobody could tell which of them is called. Throws ApiError.
void check_tool_names(const Json& tools);

// A content that is a list of parts, of the field with this name.
ContentParts read_parts(const Fields& around, const Json& parts, const char* name);

// "arguments" of a call, JSON in a string: an object.
Json arguments_of_call(Fields& call);

}  // namespace pc::serve
