// One connection of the server, for http_server.cc. Lives on the thread of its executor.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "tools/serve/http/http_answer.h"
#include "tools/serve/http/http_options.h"

namespace pc::serve {

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  // is_local: over a UNIX socket, which no web page reaches. from: for the log. Borrows options and
  // handler.
  HttpConnection(Socket socket, bool is_local, std::string from, const HttpServerOptions& options,
                 const Handler& handler);

  // Until the client leaves, breaks a limit, or stop() is called.
  boost::asio::awaitable<void> run();
  // Refuses it, for want of room.
  boost::asio::awaitable<void> turn_away();

  // No more requests: ends at once where none is being answered.
  void stop();
  // Ends it whatever it does.
  void close();

 private:
  template <class T>
  using Awaitable = boost::asio::awaitable<T>;
  struct Received {
    HttpRequest request;
    AnswerQueue::Request framing;
  };

  // The next request, or nothing where the connection is to end; then a refusal may have been sent.
  Awaitable<std::optional<Received>> receive();
  Awaitable<bool> wait_for_request();
  Awaitable<void> answer(Received received);
  Awaitable<bool> send_answer(AnswerQueue* queue);  // was it sent to its end?
  void log(RequestLine line);
  // Reads on while an answer is made: what comes belongs to the next request.
  Awaitable<void> watch(std::shared_ptr<AnswerQueue> queue);
  // The client sends no more: finds out whether it still reads. Until it does not, or end_watch().
  Awaitable<void> watch_silent(const std::shared_ptr<AnswerQueue>& queue);
  void probe(AnswerQueue* queue);
  Awaitable<void> end_watch();
  Awaitable<bool> write(std::string bytes);
  Awaitable<void> refuse(int status, std::string sentence);
  using Time = std::chrono::steady_clock::time_point;
  Awaitable<void> wait(Time most = Time::max());  // until wake()
  void wake();

  // From now on the socket's work ends after so long; until lift_deadline().
  void set_deadline(std::chrono::milliseconds time);
  void lift_deadline();

  Socket socket_;
  boost::asio::steady_timer deadline_, signal_, probe_;
  boost::beast::flat_buffer buffer_;
  const bool is_local_;
  const std::string from_;
  const HttpServerOptions& options_;
  const Handler& handler_;
  std::uint64_t n_deadlines_ = 0;
  bool is_late_ = false;  // a deadline has passed
  bool is_answering_ = false, is_watching_ = false, is_stopping_ = false;
};

}  // namespace pc::serve
