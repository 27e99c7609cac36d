// The parts of HTTP that need no socket: heads of responses, and who may ask.
//
// Pure. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/serve/http/http.h"

namespace pc::serve {

// How the body of a response ends.
enum class Framing { kLength, kChunks, kClose };

// Status line and headers, up to the empty line. n_bytes: of the body, with kLength.
std::string response_head(const HttpResponse& response, Framing framing, std::size_t n_bytes,
                          bool keeps_alive);

// A response that says in one sentence what is wrong with a request.
HttpResponse refusal(int status, const std::string& sentence);

// An origin as browsers write it: "https://Example.org:443" is "https://example.org". Nothing where
// the text is no origin, which has no path, not even "/".
std::optional<std::string> origin_of(std::string_view text);

// Whose requests are answered. A web page that gives its own name this machine's address (DNS
// rebinding) is told by the name in Host; a page of another origin by Origin.
//
// With the origin "*" any page that a browser of this machine shows may ask and read; rebinding is
// refused still, since a page's own name for this machine is not among the hosts.
struct Visitors {
  std::vector<std::string> hosts;    // names beside localhost; an address is no name
  std::vector<std::string> origins;  // pages that may read answers, as origin_of() has them, or "*"

  // Why this request is not answered, or nothing.
  std::optional<HttpResponse> refuse(const HttpRequest& request, bool checks_host) const;
  // What lets a page of an allowed origin read the answer.
  std::vector<Header> cors_headers(const HttpRequest& request) const;
  // The answer to a page's question whether it may ask, or nothing where this is none: whatever
  // method and headers it asks for, since refuse() has seen its origin.
  std::optional<HttpResponse> preflight(const HttpRequest& request) const;

 private:
  bool knows_host(std::string_view host) const;
  bool knows_origin(const std::string& origin) const;
};

}  // namespace pc::serve
