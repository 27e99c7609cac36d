// HTTP/1.1 over TCP and UNIX sockets, on one thread of its own.
//
// Built on Boost.Beast, which only http_server.cc and http_connection.* see. A request is read
// whole, within limits of size and time, and handed to the handler; while it is answered the socket
// is still read, so that a client that leaves is noticed. Requests that come behind each other on
// one connection are answered in their order.
//
// A client that closes its sending side may be waiting for its answer (nc -N) or may have left:
// what arrives here is the same. So something is written to it, to which the system of one that has
// left answers that nobody is there: after a fifth of a second "100 Continue", which clients skip,
// or, in a stream, its heartbeat. One of HTTP/1.0, which knows no 100, gets its whole answer to the
// end; one whose machine or network is gone says nothing at all, and is noticed by what a stream
// writes.
#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/serve/http/http.h"
#include "tools/serve/http/http_options.h"

namespace pc::serve {

// What cannot be listened on, in one sentence.
struct ListenError : std::runtime_error {
  using runtime_error::runtime_error;
};

// It is made before whatever answers and ends after it: a Reply may be used and let go as long as
// the server lives, also behind stop(), and no longer.
class HttpServer {
 public:
  HttpServer();
  // stop() with no time.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Listens, and answers from then on. Once; what the handler uses lives until stop(). Throws
  // ListenError.
  void start(const HttpServerOptions& options, Handler handler);

  // "http://127.0.0.1:8080", "unix:/run/promptcache.sock"; empty before start().
  const std::vector<std::string>& addresses() const;

  // Takes no more connections or requests, gives answers under way this long to end, and then
  // cuts them off. Once it returns the handler is not called any more, and all clients of answers
  // that are still made have left.
  void stop(std::chrono::milliseconds grace);

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

}  // namespace pc::serve
