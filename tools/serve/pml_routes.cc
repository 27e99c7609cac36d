// The routes of PML: schemas that clients give, and prompts of them.
#include <utility>

#include "tools/serve/api.h"
#include "tools/serve/explaining.h"
#include "tools/serve/json_reply.h"
#include "tools/serve/pml_requests.h"
#include "tools/serve/route_path.h"
#include "tools/serve/schema_keeping.h"

namespace pc::serve {
namespace {

Json listed(const std::vector<std::pair<std::string, Schemas::Handle>>& schemas) {
  Json data = Json::array();
  for (const auto& [name, schema] : schemas) {
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
  add("POST", kSchemas, [this](const Asked& asked, const auto& reply) {
    SchemaUpload upload = read_schema_upload(asked.body);
    submit([loaded = asked.loaded, upload = std::move(upload), name = name_space_of(asked.http),
            reply] {
      const ServedModel& model = loaded->model;
      keep_schema(model.engine_of(name), upload, &model.schemas_of(name), reply);
    });
  });
  add("GET", kSchemas, [this](const Asked& asked, const auto& reply) {
    send(reply, listed(asked.model().schemas(name_space_of(asked.http))));
  });
  add("GET", kSchema, [this](const Asked& asked, const auto& reply) {
    const std::string name = name_in(asked.http.path);
    send(reply, schema_json(*asked.model().schema(name_space_of(asked.http), name)));
  });
  add("DELETE", kSchema, [this](const Asked& asked, const auto& reply) {
    send(reply,
         removed(asked.model().schemas_of(name_space_of(asked.http)), name_in(asked.http.path)));
  });
  add("POST", "/pml/explain", [this](const Asked& asked, const auto& reply) {
    OpenAiRequest request = read_pml_run(asked.body, asked.model().facts());
    complete(asked.http, &request.question);
    send(reply, explain(&asked.loaded->planner, request.question));
  });
  add("POST", "/pml/run", [this](const Asked& asked, const auto& reply) {
    OpenAiRequest request = read_pml_run(asked.body, asked.model().facts());
    complete(asked.http, &request.question);
    auto sink = openai_chat_sink(request, asked.model(), reply);
    answer(asked.loaded, std::move(request.question), std::move(sink));
  });
}

}  // namespace pc::serve
