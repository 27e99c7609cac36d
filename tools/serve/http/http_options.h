// Where the HTTP server listens, whom it answers, and how much it takes. Values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/serve/http/http_head.h"
#include "tools/serve/http/request_log.h"

namespace pc::serve {

struct HttpLimits {
  std::size_t header_bytes = std::size_t{16} << 10;
  std::size_t body_bytes = std::size_t{16} << 20;
  std::size_t connections = 2048;  // others are told that the server is full
  // Each from its beginning to its end, however it trickles.
  std::chrono::milliseconds header{10'000}, body{30'000};
  std::chrono::milliseconds idle{120'000};    // between requests
  std::chrono::milliseconds stalled{60'000};  // a client that takes nothing of its answer
  // Silence within a stream, until its heartbeat: proxies and clients wait for 15 s at the least.
  std::chrono::milliseconds heartbeat{5'000};
};

struct HttpAddress {
  // Of this machine: "127.0.0.1", "::1", "[::1]", "0.0.0.0", "::", or a name, all of whose
  // addresses that this machine has are meant.
  std::string host;
  std::uint16_t port = 0;
};

struct HttpServerOptions {
  std::vector<HttpAddress> addresses;  // port 0: one that is free, the same for all of a name
  std::string unix_socket;             // a path, or ""; for this user alone
  std::vector<int> sockets;            // that listen already, as systemd hands them over; owned
  Visitors visitors;
  HttpLimits limits;
  std::shared_ptr<RequestLog> log;  // of requests, or null
};

}  // namespace pc::serve
