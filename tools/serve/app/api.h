// The server without its sockets: what handles requests, whoever brings them.
//
// Owner of models and threads. Threads: handle() from any.
#pragma once

#include <memory>
#include <vector>

#include "tools/serve/service/router.h"
#include "tools/serve/service/service.h"

namespace pc::serve {

class Api {
 public:
  // Loads the first of the models. Throws promptcache::Error.
  Api(const std::vector<ModelFile>& models, const ServiceOptions& options);

  // Never blocks, throws nothing.
  void handle(HttpRequest request, std::shared_ptr<Reply> reply) {
    router_.handle(std::move(request), std::move(reply));
  }

 private:
  Router router_{&service_};  // outlives the service's threads, which use its routes
  Service service_;
};

}  // namespace pc::serve
