// The routes that tell which models may be asked for.
#include "tools/serve/http/json_reply.h"
#include "tools/serve/request/route_path.h"
#include "tools/serve/routes/routes.h"

namespace pc::serve {
namespace {

Json model_json(const Service& service, const Models::Known& known) {
  Json aliases = Json::array();
  for (const std::string& alias : service.aliases_of(known.name)) aliases.push(alias);
  Json model = Json::object()
                   .set("id", known.name)
                   .set("object", "model")
                   .set("aliases", aliases)
                   .set("created", service.started())
                   .set("owned_by", "promptcache")
                   .set("loaded", known.handle != nullptr);
  if (known.handle) model.set("max_model_len", known.handle->model.facts().engine.context_tokens);
  return model;
}

}  // namespace

void add_model_routes(Service* service, Router* router) {
  for (const char* const path : {"/v1/models", "/models"})
    router->add("GET", path, [service](const HttpRequest&, const auto& reply) {
      Json data = Json::array();
      for (const Models::Known& known : service->models()) data.push(model_json(*service, known));
      send(reply, Json::object().set("object", "list").set("data", data));
    });
  const auto show = [service](const std::string& name, const std::shared_ptr<Reply>& reply) {
    const std::string model = service->known_as(name);
    for (const Models::Known& known : service->models())
      if (known.name == model) return send(reply, model_json(*service, known));
    throw service->no_model(name);
  };
  for (const std::string& name : service->model_names())  // also where it has slashes
    router->add("GET", "/v1/models/" + name,
                [show, name](const HttpRequest&, const auto& reply) { show(name, reply); });
  router->add("GET", "/v1/models/*", [show](const HttpRequest& request, const auto& reply) {
    show(name_in(request.path), reply);
  });
}

}  // namespace pc::serve
