#include "tools/serve/service/router.h"

#include <set>
#include <utility>

#include "tools/serve/request/failure_of.h"
#include "tools/serve/request/route_path.h"
#include "tools/serve/service/counted.h"

namespace pc::serve {
namespace {

// methods: that the path has.
HttpResponse no_route(const HttpRequest& request, const std::string& methods) {
  const std::string what = request.method + " " + request.path;
  if (methods.empty())
    return to_response(ApiError(404, "invalid_request_error", what + " is no route of this server"),
                       Protocol::kOpenAi);
  HttpResponse response =
      to_response(ApiError(405, "invalid_request_error", what + " is no way to call this route"),
                  Protocol::kOpenAi);
  response.headers.push_back({"allow", methods});
  return response;
}

// Which methods a path has, for who asks that; "*" is the server as a whole.
HttpResponse options(const std::string& methods) {
  HttpResponse response;
  response.status = 204;
  response.headers.push_back({"allow", methods + ", OPTIONS"});
  return response;
}

// In the words of OpenAI, which programs look for. The key itself is not repeated: it may be that
// of another server.
ApiError no_key(const HttpRequest& request) {
  if (ApiKeys::has_key(request))
    return {401, "invalid_request_error",
            "Incorrect API key provided: this server's file of keys (--keys) has none such", "",
            "invalid_api_key"};
  return {401, "invalid_request_error",
          "You didn't provide an API key. This server answers those alone who have one: send the "
          "header Authorization: Bearer KEY, or x-api-key: KEY"};
}

// As metrics call it.
std::string label_of(const Route* route) {
  if (!route) return "other";
  return route->label ? route->label : route->path;
}

}  // namespace

const Route* Router::find(const HttpRequest& request) const {
  for (const Route& route : routes_)
    if (request.method == route.method && leads_to(request.path, route.path)) return &route;
  return nullptr;
}

std::string Router::methods_of(const std::string& path) const {
  std::set<std::string> methods;
  for (const Route& route : routes_)
    if (path == "*" || leads_to(path, route.path)) methods.insert(route.method);
  std::string list;
  for (const std::string& method : methods) list += (list.empty() ? "" : ", ") + method;
  return list;
}

void Router::handle(HttpRequest request, std::shared_ptr<Reply> reply) const {
  const Route* const route = find(request);
  auto counted =
      std::make_shared<CountedReply>(std::move(reply), label_of(route), &service_->metrics());
  if (!route) {
    const std::string methods = methods_of(request.path);
    const bool is_asking = request.method == "OPTIONS" && !methods.empty();
    return counted->send(is_asking ? options(methods) : no_route(request, methods));
  }
  if (!route->is_open && !service_->keys().name_space_of(request)) {
    return counted->send(to_response(no_key(request), route->protocol));
  }
  const auto asked = std::make_shared<HttpRequest>(std::move(request));
  const bool taken = service_->read([service = service_, route, asked, counted] {
    guard(route->protocol, counted, [&] {
      service->unpack(asked.get());
      route->work(*asked, counted);
    });
  });
  if (!taken) counted->send(to_response(ApiError::too_busy(), route->protocol));
}

}  // namespace pc::serve
