// The routes of PML: schemas that clients give, and prompts of them.
#include <utility>

#include "tools/serve/api.h"
#include "tools/serve/fields.h"
#include "tools/serve/json_reply.h"
#include "tools/serve/pml_requests.h"
#include "tools/serve/route_path.h"
#include "tools/serve/schema_keeping.h"

namespace pc::serve {
namespace {

Json listed(const Schemas& schemas) {
  Json data = Json::array();
  for (const auto& [name, schema] : schemas.all()) {
    const pc_schema_counts counts = schema->counts();
    data.push(Json::object()
                  .set("object", "pml.schema")
                  .set("name", name)
                  .set("modules", counts.modules)
                  .set("tokens", counts.tokens)
                  .set("stored_bytes", counts.stored_bytes));
  }
  return Json::object().set("object", "list").set("data", data);
}

Json removed(Schemas& schemas, const std::string& name) {
  schemas.remove(name);
  return Json::object().set("object", "pml.schema").set("name", name).set("deleted", true);
}

}  // namespace

void Api::add_pml_routes() {
  constexpr const char *kSchemas = "/pml/schemas", *kSchema = "/pml/schemas/*";
  const auto add = [this](const char* method, const char* path, Work work) {
    routes_.push_back({method, path, Protocol::kOpenAi, std::move(work)});
  };
  add("POST", kSchemas, [this](const HttpRequest& request, const auto& reply) {
    SchemaUpload upload = read_schema_upload(read_body(request.body));
    submit([this, upload = std::move(upload), name = name_space_of(request), reply] {
      keep_schema(model_.engine_of(name), upload, &model_.schemas_of(name), reply);
    });
  });
  add("GET", kSchemas, [this](const HttpRequest& request, const auto& reply) {
    send(reply, listed(model_.schemas_of(name_space_of(request))));
  });
  add("GET", kSchema, [this](const HttpRequest& request, const auto& reply) {
    send(reply,
         schema_json(*model_.schemas_of(name_space_of(request)).find(name_in(request.path))));
  });
  add("DELETE", kSchema, [this](const HttpRequest& request, const auto& reply) {
    send(reply, removed(model_.schemas_of(name_space_of(request)), name_in(request.path)));
  });
  add("POST", "/pml/explain", [this](const HttpRequest& request, const auto& reply) {
    OpenAiRequest asked = read_pml_run(read_body(request.body), model_.facts());
    complete(request, &asked.question);
    send(reply, explain(asked.question));
  });
  add("POST", "/pml/run", [this](const HttpRequest& request, const auto& reply) {
    OpenAiRequest asked = read_pml_run(read_body(request.body), model_.facts());
    complete(request, &asked.question);
    auto sink = openai_chat_sink(asked, model_, reply);
    answer(std::move(asked.question), std::move(sink));
  });
}

}  // namespace pc::serve
