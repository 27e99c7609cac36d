// The routes of OpenAI's Responses protocol.
#include <map>
#include <memory>
#include <utility>

#include "tools/serve/http/json_reply.h"
#include "tools/serve/openai/responses_request.h"
#include "tools/serve/openai/responses_writer.h"
#include "tools/serve/request/route_path.h"
#include "tools/serve/routes/routes.h"

namespace pc::serve {
namespace {

// The messages that the request goes on behind.
Json earlier_of(const ResponsesRequest& request, StoredResponses* stored) {
  if (request.previous.empty()) return Json::array();
  const auto previous = stored->find(request.previous);
  if (!previous)
    throw ApiError(400, "invalid_request_error",
                   "there is no response \"" + request.previous +
                       "\" here; a server remembers its latest responses until it ends",
                   "previous_response_id", "previous_response_not_found");
  return cli::parse_report(previous->conversation);
}

ApiError not_found(const std::string& id) {
  return {404, "invalid_request_error", "there is no response \"" + id + "\" here", "",
          "response_not_found"};
}

HttpResponse found(const HttpRequest& request, StoredResponses* stored) {
  if (value_in(request.query, "stream") == "true")
    throw ApiError::bad_request("a response that is over is not streamed again", "stream");
  const std::string id = name_in(request.path);
  const auto response = stored->find(id);
  if (!response) throw not_found(id);
  HttpResponse http;
  http.body = response->response;
  return http;
}

Json removed(const std::string& id, StoredResponses* stored) {
  if (!stored->remove(id)) throw not_found(id);
  return Json::object().set("id", id).set("object", "response").set("deleted", true);
}

// What is remembered, of each namespace.
using AllStored = std::map<NameSpace, StoredResponses>;

std::shared_ptr<AllStored> stored_of_all(const ApiKeys& keys) {
  auto all = std::make_shared<AllStored>();
  all->try_emplace(std::nullopt);
  for (const std::string& name : keys.name_spaces()) all->try_emplace(name);
  return all;
}

}  // namespace

void add_responses_routes(Service* service, Router* router) {
  const auto all = stored_of_all(service->keys());
  for (const char* const path : {"/v1/responses", "/responses"})
    router->add_of_model("POST", path, [service, all](const Asked& asked, const auto& reply) {
      ResponsesRequest request = read_responses(asked.body, asked.model().facts());
      service->complete(asked.http, &request.question);
      StoredResponses* const stored = &all->at(request.question.name_space);
      go_on(earlier_of(request, stored), &request);
      auto writer = responses_writer(request, asked.model().id(), stored);
      service->answer(asked.loaded, std::move(request.question), std::move(writer), request.streams,
                      reply);
    });
  for (const char* const path : {"/v1/responses/*", "/responses/*"}) {
    router->add("GET", path, [service, all](const HttpRequest& request, const auto& reply) {
      reply->send(found(request, &all->at(service->name_space_of(request))));
    });
    router->add("DELETE", path, [service, all](const HttpRequest& request, const auto& reply) {
      send(reply, removed(name_in(request.path), &all->at(service->name_space_of(request))));
    });
  }
}

}  // namespace pc::serve
