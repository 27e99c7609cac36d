// A server with a handler of the test's own, and a client that sends what the test says.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tools/serve/http/http_server.h"

namespace pc::test {

inline serve::HttpServerOptions any_port(serve::HttpLimits limits = {}) {
  serve::HttpServerOptions options;
  options.addresses = {{"127.0.0.1", 0}};
  options.limits = limits;
  return options;
}

class Client {
 public:
  explicit Client(const serve::HttpServer& server) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const std::string& address = server.addresses().at(0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port =
        htons(static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
    const timeval patience{60, 0};  // of a machine that is busy
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(std::string_view bytes) {
    REQUIRE(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }
  void get(const std::string& path) {
    send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  void shut_down_sending() { ::shutdown(socket_, SHUT_WR); }

  // All until what was received ends with this, or the server has closed the connection.
  std::string read_until(std::string_view end) {
    std::string bytes;
    char piece[4096];
    while (end.empty() || !bytes.ends_with(end)) {
      const ssize_t n = ::recv(socket_, piece, sizeof piece, 0);
      if (n <= 0) break;
      bytes.append(piece, static_cast<std::size_t>(n));
    }
    return bytes;
  }
  std::string read_all() { return read_until(""); }

 private:
  const int socket_;
};

}  // namespace pc::test
