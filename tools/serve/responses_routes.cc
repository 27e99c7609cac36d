// The routes of OpenAI's Responses protocol.
#include <utility>

#include "tools/serve/api.h"
#include "tools/serve/json_reply.h"
#include "tools/serve/responses_request.h"
#include "tools/serve/responses_sink.h"
#include "tools/serve/route_path.h"

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
  return Json::parse(previous->conversation);
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

}  // namespace

void Api::add_responses_routes() {
  for (const char* const path : {"/v1/responses", "/responses"})
    add("POST", path, [this](const Asked& asked, const auto& reply) {
      ResponsesRequest request = read_responses(asked.body, asked.model().facts());
      complete(asked.http, &request.question);
      StoredResponses* const stored = &responses_.at(request.question.name_space);
      go_on(earlier_of(request, stored), &request);
      auto sink = responses_sink(request, asked.model().id(), stored, reply);
      answer(asked.loaded, std::move(request.question), std::move(sink));
    });
  const auto add_plain = [this](const char* method, const char* path, Work work) {
    routes_.push_back({method, path, Protocol::kOpenAi, std::move(work)});
  };
  for (const char* const path : {"/v1/responses/*", "/responses/*"}) {
    add_plain("GET", path, [this](const HttpRequest& request, const auto& reply) {
      reply->send(found(request, &responses_.at(name_space_of(request))));
    });
    add_plain("DELETE", path, [this](const HttpRequest& request, const auto& reply) {
      send(reply, removed(name_in(request.path), &responses_.at(name_space_of(request))));
    });
  }
}

}  // namespace pc::serve
