#include "tools/serve/routes/pml_requests.h"

#include "tools/serve/request/fields.h"
#include "tools/serve/request/sampling_fields.h"
#include "tools/serve/request/schema_chat.h"
#include "tools/serve/routes/prompt_schema.h"

namespace pc::serve {
namespace {

// A document may be empty for the library, which says what is missing; for a question that means
// that there is none.
std::string document(Fields& fields, const char* name) {
  std::string pml = fields.required_string(name);
  if (pml.empty()) fields.refuse(name, "is empty: a document of PML");
  return pml;
}

}  // namespace

SchemaUpload read_schema_upload(const Json& body) {
  Fields fields(body);
  SchemaUpload upload;
  upload.pml = document(fields, "schema");
  upload.encodes = fields.boolean("encode").value_or(true);
  upload.streams = fields.boolean("stream").value_or(false);
  fields.string("model");  // which was found by it
  upload.ignored = fields.unread();
  return upload;
}

OpenAiRequest read_pml_run(const Json& body, const ModelFacts& model) {
  Fields fields(body);
  OpenAiRequest request;
  const std::string pml = document(fields, "prompt");
  request.question.of_schema = SchemaPrompt{schema_of_prompt(pml), pml, {}};
  read_openai_answer(fields, model, &request);
  read_repair(fields, &request.question);
  tell_unread(fields, &request.question);
  return request;
}

}  // namespace pc::serve
