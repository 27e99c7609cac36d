// Ollama's routes: chats and texts, which models there are, and what each can do.
#include <array>
#include <cstdio>
#include <string>
#include <utility>

#include "tools/serve/http/json_reply.h"
#include "tools/serve/ollama/ollama_chat.h"
#include "tools/serve/ollama/ollama_writer.h"
#include "tools/serve/request/fields.h"
#include "tools/serve/routes/routes.h"

namespace pc::serve {
namespace {

constexpr const char* kTag = ":latest";  // of each model: there is one of a name

// As Ollama writes it: 494.03M.
std::string size_of(std::uint64_t n_parameters) {
  const bool is_large = n_parameters >= 1'000'000'000;
  std::array<char, 32> text{};
  const double n = static_cast<double>(n_parameters) / (is_large ? 1e9 : 1e6);
  std::snprintf(text.data(), text.size(), is_large ? "%.1fB" : "%.2fM", n);
  return text.data();
}

// Of a model that is not in memory its name and size are known.
Json details_of(const Json& facts) {
  const Json family = facts.is_null() ? Json("") : facts["family"];
  const auto n_parameters = facts["parameters"].number();
  return Json::object()
      .set("parent_model", "")
      .set("format", "")
      .set("family", family)
      .set("families", Json::array().push(family))
      .set("parameter_size", n_parameters ? size_of(*n_parameters) : "")
      .set("quantization_level", facts.is_null() ? "" : facts["weight_types"].text());
}

Json facts_of(const Models::Known& known) {
  return known.handle ? cli::parse_report(known.handle->model.engine().describe()) : Json();
}

Json model_json(const Service& service, const Models::Known& known) {
  const Json facts = facts_of(known);
  return Json::object()
      .set("name", known.name + kTag)
      .set("model", known.name + kTag)
      .set("modified_at", ollama_time(service.started()))
      .set("size", known.n_bytes)
      .set("digest", facts["weights_digest"].string())
      .set("details", details_of(facts));
}

Json capabilities_of(const ServedModel& model) {
  Json list = Json::array().push("completion");
  if (model.call_shape()) list.push("tools");
  if (model.facts().engine.fim_prefix >= 0) list.push("insert");
  if (model.thought_shape()) list.push("thinking");
  if (model.facts().engine.pooling != PC_POOLING_MODEL) list.push("embedding");
  return list;
}

Json shown(Service* service, const Asked& asked) {
  const Json facts = cli::parse_report(asked.model().engine().describe());
  const std::string family = facts["family"].string();
  return Json::object()
      .set("modelfile", "# " + service->file_of(asked.model().id()))
      .set("parameters", "")
      .set("details", details_of(facts))
      .set("model_info",
           Json::object()
               .set("general.architecture", family)
               .set(family + ".context_length", asked.model().facts().engine.context_tokens))
      .set("capabilities", capabilities_of(asked.model()))
      .set("modified_at", ollama_time(service->started()));
}

void answer(Service* service, const Asked& asked, OllamaRequest request,
            const std::shared_ptr<Reply>& reply) {
  const std::string name = asked.body["model"].string();
  const ServedModel& model = asked.model();
  const std::string called = name.empty() ? model.id() : name;
  if (request.is_empty) return send(reply, ollama_loaded(request, called));
  if (request.wants_thought && !model.thought_shape())
    throw ApiError::bad_request("\"" + called + "\" does not support thinking", "think");
  service->complete(asked.http, &request.question);
  auto writer = ollama_writer(request, called);
  service->answer(asked.loaded, std::move(request.question), std::move(writer), request.streams,
                  reply);
}

void add_models(Service* service, Router* router) {
  const auto list = [service](bool loaded_only) {
    Json models = Json::array();
    for (const Models::Known& known : service->models()) {
      if (loaded_only && !known.handle) continue;
      Json model = model_json(*service, known);
      if (loaded_only)
        model.set("context_length", known.handle->model.facts().engine.context_tokens)
            .set("size_vram", 0)
            .set("expires_at", "9999-12-31T23:59:59Z");
      models.push(model);
    }
    return Json::object().set("models", models);
  };
  router->add({"GET", "/api/tags", Protocol::kOllama,
               [list](const HttpRequest&, const auto& reply) { send(reply, list(false)); }});
  router->add({"GET", "/api/ps", Protocol::kOllama,
               [list](const HttpRequest&, const auto& reply) { send(reply, list(true)); }});
  router->add({"GET", "/api/version", Protocol::kOllama, [](const HttpRequest&, const auto& reply) {
                 send(reply, Json::object().set("version", pc_version()));
               }});
  router->add_of_model(
      "POST", "/api/show",
      [service](const Asked& asked, const auto& reply) { send(reply, shown(service, asked)); },
      Protocol::kOllama);
  // Models are files of the command line; one that is there has been pulled.
  router->add_of_model(
      "POST", "/api/pull",
      [](const Asked&, const auto& reply) { send(reply, Json::object().set("status", "success")); },
      Protocol::kOllama);
}

}  // namespace

void add_ollama_routes(Service* service, Router* router) {
  const auto add = [=](const char* path, OllamaRequest (*read)(const Json&, const ModelFacts&)) {
    router->add_of_model(
        "POST", path,
        [=](const Asked& asked, const auto& reply) {
          answer(service, asked, read(asked.body, asked.model().facts()), reply);
        },
        Protocol::kOllama);
  };
  add("/api/chat", read_ollama_chat);
  add("/api/generate", read_ollama_generate);
  add_models(service, router);
}

}  // namespace pc::serve
