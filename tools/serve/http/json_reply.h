// A reply that is one JSON object.
#pragma once

#include <memory>

#include "tools/output/json.h"
#include "tools/serve/http/http.h"

namespace pc::serve {

inline HttpResponse json_response(const cli::Json& body) {
  HttpResponse response;
  response.body = body.dump();
  return response;
}

inline void send(const std::shared_ptr<Reply>& reply, const cli::Json& body) {
  reply->send(json_response(body));
}

}  // namespace pc::serve
