// Keeps a schema that a client gave, and encodes its modules.
//
// Blocks for as long as that takes. The schema stays where encoding fails or the client leaves:
// what is not encoded yet is when a prompt imports it.
#pragma once

#include <memory>

#include "tools/serve/http/http.h"
#include "tools/serve/models/schemas.h"
#include "tools/serve/routes/pml_requests.h"

namespace pc::serve {

// {"object": "pml.schema", "name", "description"}
Json schema_json(const promptcache::Schema& schema);

// Answers; throws nothing. A client that streams is shown the modules one by one.
void keep_schema(const promptcache::Engine& engine, const SchemaUpload& upload, Schemas* schemas,
                 const std::shared_ptr<Reply>& reply);

}  // namespace pc::serve
