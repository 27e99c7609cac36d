// A reply that is one JSON object.
#pragma once

#include <memory>
#include <utility>

#include "tools/json.h"
#include "tools/serve/http.h"

namespace pc::serve {

inline void send(const std::shared_ptr<Reply>& reply, const cli::Json& body) {
  HttpResponse response;
  response.body = body.dump();
  reply->send(std::move(response));
}

}  // namespace pc::serve
