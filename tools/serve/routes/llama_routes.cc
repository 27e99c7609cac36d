// The routes of llama.cpp's server in its native protocol: completions, gaps, and what it says of
// itself.
#include <utility>

#include "tools/serve/http/json_reply.h"
#include "tools/serve/llama/llama_text.h"
#include "tools/serve/llama/llama_writer.h"
#include "tools/serve/routes/routes.h"

namespace pc::serve {
namespace {

Json props(const Service& service, const ModelFacts& model) {
  Question defaults;
  defaults.sampling = llama_defaults();
  const Json settings = llama_settings(defaults, model);
  return Json::object()
      .set("default_generation_settings",
           Json::object().set("n_ctx", model.engine.context_tokens).set("params", settings))
      .set("total_slots", service.n_parallel())
      .set("model_alias", model.id)
      .set("model_path", service.file_of(model.id))
      .set("modalities", Json::object().set("vision", false).set("audio", false))
      .set("build_info", std::string("promptcache-") + pc_version());
}

// An answer that is made has a slot, any of them: they hold nothing.
Json slots(const Service& service, const ModelFacts& model) {
  const std::size_t n_running = service.n_running();
  Json list = Json::array();
  for (std::size_t i = 0; i < service.n_parallel(); ++i)
    list.push(Json::object()
                  .set("id", i)
                  .set("n_ctx", model.engine.context_tokens)
                  .set("speculative", false)
                  .set("is_processing", i < n_running));
  return list;
}

}  // namespace

void add_llama_routes(Service* service, Router* router) {
  const auto add = [=](const char* path, LlamaRequest (*read)(const Json&, const ModelFacts&)) {
    router->add_of_model("POST", path, [=](const Asked& asked, const auto& reply) {
      LlamaRequest request = read(asked.body, asked.model().facts());
      service->complete(asked.http, &request.question);
      auto writer = llama_writer(request, asked.model());
      service->answer(asked.loaded, std::move(request.question), std::move(writer), request.streams,
                      reply);
    });
  };
  add("/completion", read_llama_completion);
  add("/infill", read_llama_infill);
  router->add_of_model("GET", "/props", [service](const Asked& asked, const auto& reply) {
    send(reply, props(*service, asked.model().facts()));
  });
  router->add_of_model("GET", "/slots", [service](const Asked& asked, const auto& reply) {
    send(reply, slots(*service, asked.model().facts()));
  });
}

}  // namespace pc::serve
