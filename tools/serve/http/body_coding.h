// Bodies of requests that come packed (content-encoding), unpacked.
//
// Pure. Threads: any.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "tools/serve/http/http.h"

namespace pc::serve {

// Why a body cannot be read: a status for the client, and a sentence.
struct CodingProblem {
  int status = 400;
  std::string sentence;
};

// Puts the text into the place of a body in gzip or deflate, which the request's header names; one
// without that header stays. most_bytes: of what is unpacked, which may be a thousand times as long
// as what came. With a problem the body is as it was.
std::optional<CodingProblem> unpack_body(HttpRequest* request, std::size_t most_bytes);

}  // namespace pc::serve
