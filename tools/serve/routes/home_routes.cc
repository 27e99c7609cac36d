// The routes about the server itself: whether it lives, what it counts, what its store has, its
// description and its page.
#include <utility>

#include "tools/serve/http/json_reply.h"
#include "tools/serve/routes/playground.h"
#include "tools/serve/routes/routes.h"
#include "tools/serve/routes/store_report.h"

namespace pc::serve {
namespace {

void add_playground(Router* router) {
  for (const EmbeddedFile& file : playground_files())
    router->add(
        {"GET", playground_path(file), Protocol::kOpenAi,
         [file](const HttpRequest&, const auto& reply) { reply->send(playground_response(file)); },
         "playground", true});
}

void add_description(Router* router) {
  for (const EmbeddedFile& file : description_files())
    router->add({"GET", file.name, Protocol::kOpenAi,
                 [file](const HttpRequest&, const auto& reply) {
                   HttpResponse response;
                   response.body.assign(reinterpret_cast<const char*>(file.bytes), file.n_bytes);
                   reply->send(std::move(response));
                 },
                 nullptr, true});
}

}  // namespace

void add_home_routes(Service* service, Router* router) {
  router->add({"GET", "/health", Protocol::kOpenAi,
               [](const HttpRequest&, const auto& reply) {
                 send(reply, Json::object().set("status", "ok"));
               },
               nullptr, true});
  router->add("GET", "/v1/prompt_cache/store", [service](const HttpRequest&, const auto& reply) {
    if (service->keys().are_needed())
      throw ApiError(403, "permission_error", "the store has files of other keys' owners, too");
    send(reply, store_report(service->store()));
  });
  router->add("GET", "/metrics", [service](const HttpRequest&, const auto& reply) {
    HttpResponse response;
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = service->metrics_page();
    reply->send(std::move(response));
  });
  add_playground(router);
  add_description(router);
}

}  // namespace pc::serve
