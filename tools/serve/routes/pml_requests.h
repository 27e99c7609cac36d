// The bodies of requests about PML: schemas that are to be kept, prompts of them that are to be
// answered.
//
// Pure. Threads: any.
#pragma once

#include <string>
#include <vector>

#include "tools/serve/openai/openai_chat.h"

namespace pc::serve {

struct SchemaUpload {
  std::string pml;
  bool encodes = true, streams = false;
  std::vector<std::string> ignored;  // fields that mean nothing here
};

// Both throw ApiError.
SchemaUpload read_schema_upload(const Json& body);

// Also of a request that only wants its prompt explained.
OpenAiRequest read_pml_run(const Json& body, const ModelFacts& model);

}  // namespace pc::serve
