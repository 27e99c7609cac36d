#include "tools/serve/http/http_connection.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cctype>
#include <string_view>
#include <tuple>
#include <utility>

#include "tools/serve/http/http_target.h"

namespace pc::serve {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr auto kResult = asio::as_tuple(asio::use_awaitable);
// What is read ahead of a pipelining client while it is answered.
constexpr std::size_t kMostAhead = std::size_t{16} << 10, kRead = std::size_t{4} << 10;
// From the end of what a client sends until it is asked whether it is there: most answers are made
// by then.
constexpr std::chrono::milliseconds kProbe{200};
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

using Parser = http::request_parser<http::string_body>;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

HttpRequest request_of(http::request<http::string_body> message) {
  HttpRequest request;
  request.method = std::string(message.method_string());
  Target target = target_of(message.target());
  request.path = std::move(target.path);
  request.query = std::move(target.query);
  // It stands in the place of the header, which a proxy would have to correct (RFC 9112, 3.2.2).
  if (!target.authority.empty()) message.set(http::field::host, target.authority);
  for (const auto& field : message)
    request.headers.push_back({lower(field.name_string()), std::string(field.value())});
  request.body = std::move(message.body());
  return request;
}

// What is wrong with a request that the parser refuses.
std::pair<int, std::string> problem_of(const error_code& error, const HttpLimits& limits) {
  if (error == http::error::header_limit)
    return {431,
            "the request's head is longer than " + std::to_string(limits.header_bytes) + " bytes"};
  if (error == http::error::body_limit)
    return {413,
            "the request's body is longer than " + std::to_string(limits.body_bytes) + " bytes"};
  return {400, "this is no request of HTTP/1.1: " + error.message()};
}

// Is it the parser who refuses, and not the socket?
bool is_parsers(const error_code& error) {
  return error.category() == http::make_error_code(http::error::bad_method).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

// Whoever makes the answer is told when its connection ends, by an exception, too.
class Taker {
 public:
  explicit Taker(AnswerQueue* queue) : queue_(queue) {}
  ~Taker() { queue_->leave(); }
  Taker(const Taker&) = delete;
  Taker& operator=(const Taker&) = delete;

 private:
  AnswerQueue* const queue_;
};

}  // namespace

HttpConnection::HttpConnection(Socket socket, bool is_local, std::string from,
                               const HttpServerOptions& options, const Handler& handler)
    : socket_(std::move(socket)),
      deadline_(socket_.get_executor()),
      signal_(socket_.get_executor(), std::chrono::steady_clock::time_point::max()),
      probe_(socket_.get_executor()),
      is_local_(is_local),
      from_(std::move(from)),
      options_(options),
      handler_(handler) {
  error_code ignored;  // a probe is not worth waiting for
  socket_.non_blocking(true, ignored);
}

asio::awaitable<void> HttpConnection::run() {
  const auto self = shared_from_this();
  while (!is_stopping_) {
    auto received = co_await receive();
    if (!received) break;
    const bool keeps_alive = received->framing.keeps_alive;
    co_await answer(std::move(*received));
    if (!keeps_alive) break;
  }
  lift_deadline();
  error_code ignored;
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.close(ignored);
}

asio::awaitable<void> HttpConnection::turn_away() {
  const auto self = shared_from_this();
  co_await refuse(503, "the server has as many connections as it may: come again in a second");
  close();
}

// The first byte may be long in coming; then the head has its time.
asio::awaitable<bool> HttpConnection::wait_for_request() {
  if (buffer_.size() > 0) co_return true;
  set_deadline(options_.limits.idle);
  const auto [error, n] = co_await socket_.async_read_some(buffer_.prepare(kRead), kResult);
  buffer_.commit(n);
  co_return !error && n > 0 && !is_stopping_;
}

asio::awaitable<std::optional<HttpConnection::Received>> HttpConnection::receive() {
  if (!co_await wait_for_request()) co_return std::nullopt;
  const HttpLimits& limits = options_.limits;
  Parser parser;
  parser.header_limit(static_cast<std::uint32_t>(limits.header_bytes));
  parser.body_limit(limits.body_bytes);
  set_deadline(limits.header);
  auto [error, n] = co_await http::async_read_header(socket_, buffer_, parser, kResult);
  if (!error && lower(parser.get()[http::field::expect]) == "100-continue") {
    if (!co_await write(std::string(kContinue))) co_return std::nullopt;
  }
  if (!error) {
    set_deadline(limits.body);
    std::tie(error, n) = co_await http::async_read(socket_, buffer_, parser, kResult);
  }
  const bool is_late = std::exchange(is_late_, false);
  lift_deadline();
  if (error) {
    const auto [status, sentence] = problem_of(error, limits);
    if (is_late)
      co_await refuse(408, "the request took longer to arrive than it may");
    else if (is_parsers(error))
      co_await refuse(status, sentence);
    co_return std::nullopt;
  }
  Received received;
  received.framing.is_http10 = parser.get().version() < 11;
  received.framing.keeps_alive = parser.get().keep_alive();
  received.framing.is_head = parser.get().method() == http::verb::head;
  received.request = request_of(parser.release());
  co_return received;
}

asio::awaitable<void> HttpConnection::answer(Received received) {
  const Visitors& visitors = options_.visitors;
  received.framing.headers = visitors.cors_headers(received.request);
  const auto queue = std::make_shared<AnswerQueue>(
      received.framing, [weak = weak_from_this(), executor = socket_.get_executor()] {
        asio::post(executor, [weak] {
          if (const auto self = weak.lock()) self->wake();
        });
      });
  const Taker taker(queue.get());
  RequestLine line{from_, received.request.method, received.request.path};
  if (options_.log) line.notes = received.request.notes = std::make_shared<RequestNotes>();
  const auto begin = std::chrono::steady_clock::now();
  is_answering_ = true;
  if (auto refused = visitors.refuse(received.request, !is_local_))
    queue->send(std::move(*refused));
  else if (auto preflight = visitors.preflight(received.request))
    queue->send(std::move(*preflight));
  else {
    if (received.framing.is_head) received.request.method = "GET";
    handler_(std::move(received.request), std::make_shared<QueuedReply>(queue));
  }
  is_watching_ = true;
  asio::co_spawn(socket_.get_executor(), watch(queue), asio::detached);
  line.is_whole = co_await send_answer(queue.get());
  line.time = std::chrono::steady_clock::now() - begin;
  AnswerQueue::Said said = queue->said();
  line.status = said.status;
  line.answer = std::move(said.error);
  log(std::move(line));
  co_await end_watch();
  is_answering_ = false;
  if (!queue->keeps_alive()) close();
}

void HttpConnection::log(RequestLine line) {
  if (options_.log) options_.log->write(line);
}

asio::awaitable<bool> HttpConnection::send_answer(AnswerQueue* queue) {
  using Clock = std::chrono::steady_clock;
  Time beat = Clock::now() + options_.limits.heartbeat;
  while (socket_.is_open()) {
    std::string bytes = queue->take();
    if (!bytes.empty()) {
      const bool sent = co_await write(std::move(bytes));
      queue->taken();
      if (!sent) break;
      beat = Clock::now() + options_.limits.heartbeat;
    } else if (queue->is_over()) {
      co_return true;
    } else if (Clock::now() < beat) {
      co_await wait(beat);
    } else {
      queue->beat();
      beat = Clock::now() + options_.limits.heartbeat;
    }
  }
  queue->leave();
  co_return false;
}

asio::awaitable<void> HttpConnection::watch(std::shared_ptr<AnswerQueue> queue) {
  const auto self = shared_from_this();
  while (buffer_.size() < kMostAhead) {
    const auto [error, n] = co_await socket_.async_read_some(buffer_.prepare(kRead), kResult);
    buffer_.commit(n);
    if (error == asio::error::operation_aborted) break;
    if (error == asio::error::eof || (!error && n == 0)) {
      co_await watch_silent(queue);
      break;
    }
    if (error) {
      close();
      break;
    }
  }
  is_watching_ = false;
  wake();
}

asio::awaitable<void> HttpConnection::watch_silent(const std::shared_ptr<AnswerQueue>& queue) {
  probe_.expires_after(kProbe);
  probe_.async_wait([weak = weak_from_this(), queue](const error_code& over) {
    const auto self = weak.lock();
    if (!over && self && self->is_watching_) self->probe(queue.get());
  });
  const auto [error] = co_await socket_.async_wait(Socket::wait_error, kResult);
  probe_.cancel();
  if (error != asio::error::operation_aborted) close();
}

// Of a stream whose head waits to be sent the heartbeat goes out behind it.
void HttpConnection::probe(AnswerQueue* queue) {
  if (!queue->may_be_told_to_wait()) {
    queue->beat();
    return wake();
  }
  error_code error;
  const std::size_t n = socket_.send(asio::buffer(kContinue), 0, error);
  const bool is_cut = n > 0 && n < kContinue.size();
  if (is_cut || (error && error != asio::error::would_block)) close();
}

asio::awaitable<void> HttpConnection::end_watch() {
  error_code ignored;
  if (is_watching_ && socket_.is_open()) socket_.cancel(ignored);
  while (is_watching_) co_await wait();
}

// False where it could not be sent.
asio::awaitable<bool> HttpConnection::write(std::string bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    set_deadline(options_.limits.stalled);
    const auto [error, n] = co_await socket_.async_write_some(asio::buffer(bytes) + sent, kResult);
    lift_deadline();
    if (error) co_return false;
    sent += n;
  }
  co_return true;
}

asio::awaitable<void> HttpConnection::refuse(int status, std::string sentence) {
  const HttpResponse response = refusal(status, sentence);
  RequestLine line{from_, "", "", status};
  line.answer = response.body;
  log(std::move(line));
  co_await write(response_head(response, Framing::kLength, response.body.size(), false) +
                 response.body);
  // What the client still sends is read for a while: to close over it would take the refusal back.
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  set_deadline(std::chrono::seconds(2));
  for (std::size_t n_read = 0; n_read < options_.limits.body_bytes;) {
    buffer_.clear();
    const auto [error, n] = co_await socket_.async_read_some(buffer_.prepare(kRead), kResult);
    if (error || n == 0) break;
    n_read += n;
  }
  lift_deadline();
}

asio::awaitable<void> HttpConnection::wait(Time most) {
  signal_.expires_at(most);
  co_await signal_.async_wait(kResult);
}

void HttpConnection::wake() {
  signal_.cancel();
}

void HttpConnection::set_deadline(std::chrono::milliseconds time) {
  deadline_.expires_after(time);
  deadline_.async_wait([weak = weak_from_this(), number = ++n_deadlines_](const error_code& over) {
    const auto self = weak.lock();
    if (over || !self || self->n_deadlines_ != number) return;
    self->is_late_ = true;
    error_code ignored;
    self->socket_.cancel(ignored);
  });
}

void HttpConnection::lift_deadline() {
  ++n_deadlines_;  // one that passed just now does not count any more
  deadline_.cancel();
}

void HttpConnection::stop() {
  is_stopping_ = true;
  if (!is_answering_) close();
}

void HttpConnection::close() {
  error_code ignored;
  socket_.close(ignored);
  wake();
}

}  // namespace pc::serve
