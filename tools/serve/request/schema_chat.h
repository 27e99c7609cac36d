// A chat request that names a schema: its turns may import the schema's modules.
#pragma once

#include "tools/serve/request/fields.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

// Reads "schema", "messages" and "repair"; what else makes a conversation is refused beside a
// schema. False: the request names none, and nothing was read. Throws ApiError, which names the
// part.
bool read_schema_chat(Fields& fields, Question* question);

// Which tokens of modules are to be computed anew.
void read_repair(Fields& fields, Question* question);

}  // namespace pc::serve
