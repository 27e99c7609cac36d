// The routes of PML: schemas that clients give, and prompts of them.
#include <utility>

#include "tools/serve/http/json_reply.h"
#include "tools/serve/openai/chat_writer.h"
#include "tools/serve/request/route_path.h"
#include "tools/serve/routes/explaining.h"
#include "tools/serve/routes/pml_requests.h"
#include "tools/serve/routes/routes.h"
#include "tools/serve/routes/schema_keeping.h"

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

void add_pml_routes(Service* service, Router* router) {
  constexpr const char *kSchemas = "/pml/schemas", *kSchema = "/pml/schemas/*";
  router->add_of_model("POST", kSchemas, [service](const Asked& asked, const auto& reply) {
    SchemaUpload upload = read_schema_upload(asked.body);
    service->submit([loaded = asked.loaded, upload = std::move(upload),
                     name = service->name_space_of(asked.http), reply] {
      const ServedModel& model = loaded->model;
      keep_schema(model.engine_of(name), upload, &model.schemas_of(name), reply);
    });
  });
  router->add_of_model("GET", kSchemas, [service](const Asked& asked, const auto& reply) {
    send(reply, listed(asked.model().schemas(service->name_space_of(asked.http))));
  });
  router->add_of_model("GET", kSchema, [service](const Asked& asked, const auto& reply) {
    const std::string name = name_in(asked.http.path);
    send(reply, schema_json(*asked.model().schema(service->name_space_of(asked.http), name)));
  });
  router->add_of_model("DELETE", kSchema, [service](const Asked& asked, const auto& reply) {
    send(reply, removed(asked.model().schemas_of(service->name_space_of(asked.http)),
                        name_in(asked.http.path)));
  });
  router->add_of_model("POST", "/pml/explain", [service](const Asked& asked, const auto& reply) {
    OpenAiRequest request = read_pml_run(asked.body, asked.model().facts());
    service->complete(asked.http, &request.question);
    send(reply, explain(&asked.loaded->planner, request.question));
  });
  router->add_of_model("POST", "/pml/run", [service](const Asked& asked, const auto& reply) {
    OpenAiRequest request = read_pml_run(asked.body, asked.model().facts());
    service->complete(asked.http, &request.question);
    auto writer = openai_chat_writer(request, asked.model());
    service->answer(asked.loaded, std::move(request.question), std::move(writer), request.streams,
                    reply);
  });
}

}  // namespace pc::serve
