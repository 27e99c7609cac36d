// Which request is answered by whom.
//
// Immutable once the server runs. Threads: any.
#pragma once

#include <string>
#include <vector>

#include "tools/serve/service/service.h"

namespace pc::serve {

struct Route {
  const char* method;
  std::string path;  // a route (route_path.h)
  Protocol protocol;
  Work work;
  const char* label = nullptr;  // in metrics; null: the path
  bool is_open = false;         // answered without a key, too
};

class Router {
 public:
  // Borrows the service.
  explicit Router(Service* service) : service_(service) {}

  void add(Route route) { routes_.push_back(std::move(route)); }
  // Adds a route that needs no model.
  void add(const char* method, const std::string& path, Work work) {
    add({method, path, Protocol::kOpenAi, std::move(work)});
  }
  void add_of_model(const char* method, const std::string& path, ModelWork work,
                    Protocol protocol = Protocol::kOpenAi) {
    add({method, path, protocol, service_->with_model(protocol, std::move(work))});
  }

  // Never blocks, throws nothing.
  void handle(HttpRequest request, std::shared_ptr<Reply> reply) const;

 private:
  const Route* find(const HttpRequest& request) const;
  std::string methods_of(const std::string& path) const;  // "GET, POST"; "": no route has the path

  Service* const service_;
  std::vector<Route> routes_;
};

}  // namespace pc::serve
