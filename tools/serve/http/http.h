// What the server's routes see of HTTP: a request, and a way to answer it. The transport
// (http_server.h) makes both.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pc::serve {

struct Header {
  std::string name, value;  // name in lower case
};

class RequestNotes;  // request_log.h

struct HttpRequest {
  std::string method;       // as it was sent: "POST"
  std::string path, query;  // as target_of() has them (http_target.h)
  std::vector<Header> headers;
  std::string body;
  std::shared_ptr<RequestNotes> notes = nullptr;  // for the log; null: there is none

  const std::string* header(std::string_view lower_case_name) const;  // the first, or null
};

struct HttpResponse {
  int status = 200;
  std::vector<Header> headers;  // beside those of type, length and connection
  std::string body;
  std::string content_type = "application/json";
  // Of a stream: bytes that its clients ignore (": \n\n" between events), written between two
  // write()s whenever nothing else was written for so long that somebody might take the silence for
  // the end (HttpLimits::heartbeat). "": none.
  std::string heartbeat;
};

// The way to answer one request: whole, or by begin(), any number of write() and end(). If a Reply
// is destroyed before it has answered, the client is told that the request failed. Threads: any;
// nothing blocks. Calls after the end, or after the client has left, do nothing.
class Reply {
 public:
  virtual ~Reply() = default;

  virtual void send(HttpResponse response) = 0;
  virtual void begin(HttpResponse head) = 0;  // without a body
  virtual void write(std::string bytes) = 0;
  virtual void end() = 0;

  // How many written bytes the client's system has not taken yet.
  virtual std::size_t queued_bytes() const = 0;
  // Called once, on any thread, if the client leaves before the end; at once where it has left.
  virtual void on_gone(std::function<void()> gone) = 0;
};

// Called on an I/O thread: returns soon, throws nothing.
using Handler = std::function<void(HttpRequest, std::shared_ptr<Reply>)>;

}  // namespace pc::serve
