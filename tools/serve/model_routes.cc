// The routes that tell which models may be asked for.
#include "tools/serve/api.h"
#include "tools/serve/json_reply.h"
#include "tools/serve/route_path.h"

namespace pc::serve {
namespace {

Json model_json(const Models::Known& known, std::int64_t created) {
  Json model = Json::object()
                   .set("id", known.name)
                   .set("object", "model")
                   .set("created", created)
                   .set("owned_by", "promptcache")
                   .set("loaded", known.handle != nullptr);
  if (known.handle) model.set("max_model_len", known.handle->model.facts().engine.context_tokens);
  return model;
}

}  // namespace

void Api::add_model_routes() {
  const auto add_plain = [this](const std::string& path, Work work) {
    routes_.push_back({"GET", path, Protocol::kOpenAi, std::move(work)});
  };
  for (const char* const path : {"/v1/models", "/models"})
    add_plain(path, [this](const HttpRequest&, const auto& reply) {
      Json data = Json::array();
      for (const Models::Known& known : models_.all()) data.push(model_json(known, started_));
      send(reply, Json::object().set("object", "list").set("data", data));
    });
  const auto show = [this](const std::string& name, const std::shared_ptr<Reply>& reply) {
    for (const Models::Known& known : models_.all())
      if (known.name == name) return send(reply, model_json(known, started_));
    throw no_model(name);
  };
  for (const auto& [name, schemas] : schemas_)  // also where it has slashes
    add_plain("/v1/models/" + name,
              [show, name = name](const HttpRequest&, const auto& reply) { show(name, reply); });
  add_plain("/v1/models/*", [show](const HttpRequest& request, const auto& reply) {
    show(name_in(request.path), reply);
  });
}

}  // namespace pc::serve
