#include "tools/serve/http/http_server.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/tools/serve/http/served.h"

namespace pc::serve {
namespace {

using namespace std::chrono_literals;
using test::any_port;
using test::Client;
using Clock = std::chrono::steady_clock;

TEST_CASE("answers that are made beyond the end of the server's work disturb nobody") {
  for (const bool streams : {true, false}) {
    std::promise<std::shared_ptr<Reply>> promise;
    std::atomic<bool> has_left = false;
    HttpServer server;
    server.start(any_port(), [&](const HttpRequest&, std::shared_ptr<Reply> reply) {
      reply->on_gone([&] { has_left = true; });
      if (streams) reply->begin({});
      promise.set_value(std::move(reply));
    });
    Client client(server);
    client.get("/");
    std::shared_ptr<Reply> reply = promise.get_future().get();
    server.stop(0ms);
    CHECK(has_left);
    reply->write("late");
    reply->send({});
    reply->end();
    CHECK(reply->queued_bytes() == 0);
    reply = nullptr;
    CHECK(client.read_all().find("late") == std::string::npos);
  }
}

TEST_CASE("an exception ends the connection that it came from, and no other") {
  bool has_left = false;
  HttpServer server;
  std::shared_ptr<Reply> kept;
  server.start(any_port(), [&](const HttpRequest& request, const std::shared_ptr<Reply>& reply) {
    if (request.path == "/bad") {
      kept = reply;
      reply->on_gone([&] { has_left = true; });
      throw std::bad_alloc();
    }
    reply->send({});
  });
  Client good(server), bad(server);
  bad.get("/bad");
  CHECK(bad.read_all().empty());
  good.get("/good");
  CHECK(good.read_until("\r\n\r\n").starts_with("HTTP/1.1 200 OK"));
  const auto begin = Clock::now();
  server.stop(10min);
  CHECK(Clock::now() - begin < 1min);
  CHECK(has_left);
}

// What may or may not come: a heartbeat, or that a client is to go on, where the machine is busy.
std::string without(const std::string& piece, std::string text) {
  for (std::size_t at; (at = text.find(piece)) != std::string::npos;) text.erase(at, piece.size());
  return text;
}

// A stream of "ab" that says nothing until `go`, and then "cd"; until the future is ready.
std::future<void> hum(const std::string& heartbeat, std::shared_ptr<Reply> reply,
                      std::shared_future<void> go) {
  HttpResponse head;
  head.heartbeat = heartbeat;
  reply->begin(std::move(head));
  reply->write("ab");
  return std::async(std::launch::async, [reply = std::move(reply), go = std::move(go)] {
    go.wait();
    reply->write("cd");
    reply->end();
  });
}

TEST_CASE("silence within a stream has a heartbeat, and none without one or in a whole answer") {
  HttpLimits limits;
  limits.heartbeat = 20ms;
  std::promise<void> promise;
  const std::shared_future<void> go = promise.get_future().share();
  std::shared_ptr<Reply> waiting;
  HttpServer server;
  std::vector<std::future<void>> hums;
  server.start(any_port(limits), [&](const HttpRequest& request, std::shared_ptr<Reply> reply) {
    if (request.path == "/whole") return void(waiting = std::move(reply));
    hums.push_back(hum(request.path == "/hum" ? "." : "", std::move(reply), go));
  });
  Client humming(server), silent(server), whole(server);
  silent.get("/silent");
  whole.get("/whole");
  humming.get("/hum");
  const std::string first = humming.read_until("1\r\n.\r\n1\r\n.\r\n1\r\n.\r\n");
  CHECK(first.find("\r\n\r\n2\r\nab\r\n1\r\n.\r\n") != std::string::npos);
  promise.set_value();
  CHECK(without("1\r\n.\r\n", humming.read_until("0\r\n\r\n")) == "2\r\ncd\r\n0\r\n\r\n");
  CHECK(silent.read_until("0\r\n\r\n").ends_with("\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n"));
  waiting->send({});
  CHECK(whole.read_until("\r\n\r\n").starts_with("HTTP/1.1 200 OK"));
}

// What a handler was called with last, and whether its client has left.
struct Kept {
  void keep(std::shared_ptr<Reply> reply) {
    reply->on_gone([this] { has_left.set_value(); });
    asked.set_value(std::move(reply));
  }
  std::promise<std::shared_ptr<Reply>> asked;
  std::promise<void> has_left;
};

TEST_CASE("a client that sends no more gets its whole answer, however long that takes") {
  for (const bool streams : {false, true}) {
    Kept kept;
    HttpServer server;
    server.start(any_port(), [&](const HttpRequest&, std::shared_ptr<Reply> reply) {
      kept.keep(std::move(reply));
    });
    Client client(server);
    client.get("/");
    client.shut_down_sending();
    const auto reply = kept.asked.get_future().get();
    if (streams) {
      HttpResponse head;
      head.heartbeat = ".";
      reply->begin(std::move(head));
      const std::string begun = client.read_until("1\r\n.\r\n");
      CHECK(without("HTTP/1.1 100 Continue\r\n\r\n", begun).starts_with("HTTP/1.1 200 OK\r\n"));
      reply->write("ab");
      reply->end();
      CHECK(without("1\r\n.\r\n", client.read_all()) == "2\r\nab\r\n0\r\n\r\n");
    } else {
      CHECK(client.read_until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
      HttpResponse response;
      response.body = "whole";
      reply->send(std::move(response));
      const std::string answer = client.read_all();
      CHECK(answer.starts_with("HTTP/1.1 200 OK\r\n"));
      CHECK(answer.ends_with("\r\n\r\nwhole"));
    }
  }
}

TEST_CASE("an older client that sends no more gets its answer, and nothing before") {
  Kept kept;
  HttpServer server;
  server.start(any_port(), [&](const HttpRequest&, std::shared_ptr<Reply> reply) {
    kept.keep(std::move(reply));
  });
  Client client(server);
  client.send("GET / HTTP/1.0\r\n\r\n");
  client.shut_down_sending();
  const auto reply = kept.asked.get_future().get();
  std::this_thread::sleep_for(400ms);  // twice the time until others are asked
  reply->send({});
  CHECK(client.read_all().starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_CASE("a client that has left is told from one that sends no more") {
  for (const bool streams : {false, true}) {
    Kept kept;
    HttpServer server;
    server.start(any_port(), [&](const HttpRequest&, std::shared_ptr<Reply> reply) {
      kept.keep(std::move(reply));
    });
    auto client = std::make_unique<Client>(server);
    client->get("/");
    const auto reply = kept.asked.get_future().get();
    if (streams) {
      HttpResponse head;
      head.heartbeat = ".";
      reply->begin(std::move(head));
      client->read_until("\r\n\r\n");
    }
    client = nullptr;
    CHECK(kept.has_left.get_future().wait_for(1min) == std::future_status::ready);
  }
}

std::vector<std::string> addresses_of(const std::vector<HttpAddress>& addresses) {
  HttpServerOptions options;
  options.addresses = addresses;
  HttpServer server;
  server.start(options, [](const HttpRequest&, const std::shared_ptr<Reply>&) {});
  return server.addresses();
}

// Has this machine addresses of version 6?
bool has_v6() {
  const int socket = ::socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const bool is_bound =
      socket >= 0 && ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(socket);
  return is_bound;
}

// At one port, which was free a moment before, and mostly still is.
std::vector<std::string> addresses_of_both_versions() {
  for (int tries = 0;; ++tries) {
    const auto any = addresses_of({{"0.0.0.0", 0}});
    const auto port = static_cast<std::uint16_t>(std::stoul(any[0].substr(any[0].rfind(':') + 1)));
    try {
      return addresses_of({{"0.0.0.0", port}, {"::", port}});
    } catch (const ListenError&) {
      if (tries == 10) throw;
    }
  }
}

TEST_CASE("names, and addresses of both versions, with brackets and without, are listened on") {
  const auto of_name = addresses_of({{"localhost", 0}});
  REQUIRE(!of_name.empty());
  CHECK(of_name[0].starts_with("http://127.0.0.1:"));
  for (const std::string& address : of_name)  // one port
    CHECK(address.substr(address.rfind(':')) == of_name[0].substr(of_name[0].rfind(':')));
  CHECK(addresses_of({{"127.0.0.1", 0}, {"0.0.0.0", 0}}).size() == 2);
  if (!has_v6()) return;
  for (const char* const host : {"::1", "[::1]"})
    CHECK(addresses_of({{host, 0}})[0].starts_with("http://[::1]:"));
  CHECK(addresses_of_both_versions().size() == 2);
}

TEST_CASE("a host that is none, or nobody's here, is refused by name") {
  for (const char* const host : {"no.such.name.invalid", "", "[]", "192.0.2.1", "2001:db8::1"})
    CHECK_THROWS_AS(addresses_of({{host, 0}}), ListenError);
  CHECK_THROWS_WITH(addresses_of({{"192.0.2.1", 7}}), Catch::Contains("192.0.2.1 port 7"));
}

TEST_CASE("a server that was never started has no address and ends") {
  HttpServer server;
  CHECK(server.addresses().empty());
  server.stop(10min);
}

}  // namespace
}  // namespace pc::serve
