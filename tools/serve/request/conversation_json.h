// Messages and tools as a client writes them, in the form that chat templates take.
#pragma once

#include <string>

#include "tools/serve/request/content_parts.h"
#include "tools/serve/request/fields.h"

namespace pc::serve {

// OpenAI's "messages", whose contents may be lists of parts, and arguments of calls JSON in a
// string. Throws ApiError, which names the message.
Json messages_of(Fields& body);

// OpenAI's "tools"; null where there are none. Those that are no functions are left out, and told.
Json tools_of(Fields& body);

// A tool that is no function cannot be offered to the model, but those beside it can.
void leave_out_tool(Fields& tool, const std::string& type);

// Of a function that is described without any: it takes none.
Json no_parameters();

// Of tools as templates take them, whichever protocol they came in: refuses two of one name, since
// nobody could tell which of them is called. Throws ApiError.
void check_tool_names(const Json& tools);

// A content that is a list of parts, of the field with this name. is_system: what stands there for
// the provider is left out.
ContentParts read_parts(Fields& around, const Json& parts, const char* name,
                        bool is_system = false);

// "arguments" of a call, JSON in a string or as it is: an object. What is none, as an answer that
// was cut off leaves behind, is {"input": the text}, with a remark.
Json arguments_of_call(Fields& call, const char* name = "arguments");

}  // namespace pc::serve
