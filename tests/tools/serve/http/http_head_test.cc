#include "tools/serve/http/http_head.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace pc::serve {
namespace {

HttpRequest request(std::vector<Header> headers, std::string method = "GET") {
  HttpRequest request;
  request.method = std::move(method);
  request.headers = std::move(headers);
  return request;
}

int status(const Visitors& visitors, std::vector<Header> headers) {
  const auto refused = visitors.refuse(request(std::move(headers)), true);
  return refused ? refused->status : 200;
}

TEST_CASE("only this machine's names and those that are named are answered") {
  const Visitors visitors{{"Box.example"}, {}};
  for (const char* host : {"localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:80", "10.0.0.7",
                           "box.example", "app.localhost:3"})
    CHECK(status(visitors, {{"host", host}}) == 200);
  for (const char* host : {"evil.example", "evil.example:8080", "localhost.evil.example", "", ":80",
                           "box.example.evil", "127.0.0.1.evil.example", "[::1]evil"})
    CHECK(status(visitors, {{"host", host}}) == (std::string(host) == "[::1]evil" ? 200 : 403));
  CHECK(status(visitors, {}) == 200);  // HTTP/1.0; browsers send one
}

TEST_CASE("pages of other origins are answered only where they are named") {
  const Visitors visitors{{}, {"https://app.example"}};
  CHECK(status(visitors, {{"host", "localhost:1"}, {"origin", "http://localhost:1"}}) == 200);
  CHECK(status(visitors, {{"host", "localhost:1"}, {"origin", "https://localhost:1"}}) == 200);
  CHECK(status(visitors, {{"host", "localhost:1"}, {"origin", "https://app.example"}}) == 200);
  for (const char* origin : {"null", "http://localhost:2", "https://app.example.evil", "", "*"})
    CHECK(status(visitors, {{"host", "localhost:1"}, {"origin", origin}}) == 403);
  CHECK(visitors.cors_headers(request({{"origin", "https://other.example"}})).empty());
  CHECK(visitors.cors_headers(request({{"origin", "https://app.example"}}))[0].value ==
        "https://app.example");
}

TEST_CASE("any origin is allowed by a star, and no other host is") {
  const Visitors visitors{{}, {"*"}};
  for (const char* origin : {"null", "http://localhost:2", "https://app.example"}) {
    CHECK(status(visitors, {{"host", "localhost:1"}, {"origin", origin}}) == 200);
    CHECK(visitors.cors_headers(request({{"origin", origin}}))[0].value == origin);
    CHECK(status(visitors, {{"host", "evil.example"}, {"origin", origin}}) == 403);
  }
  CHECK(visitors.cors_headers(request({})).empty());
}

TEST_CASE("an origin is written as browsers write it, or is none") {
  for (const auto& [text, origin] : std::vector<std::pair<const char*, const char*>>{
           {"https://app.example", "https://app.example"},
           {"HTTPS://App.Example:443", "https://app.example"},
           {"http://localhost:80", "http://localhost"},
           {"http://localhost:443", "http://localhost:443"},
           {"http://[::1]:3000", "http://[::1]:3000"},
           {"chrome-extension://abc", "chrome-extension://abc"}})
    CHECK(origin_of(text) == origin);
  for (const char* text :
       {"https://app.example/", "https://app.example/x", "app.example", "*", "", "https://", "://a",
        "https://a?b", "https://a b", "https://*.example", "https://u@a", "ht tp://a"})
    CHECK(!origin_of(text));
}

TEST_CASE("a head has what ends its body") {
  HttpResponse response;
  response.headers = {{"x", "y"}};
  const std::string whole = response_head(response, Framing::kLength, 5, true);
  CHECK(whole ==
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\n"
        "x: y\r\nconnection: keep-alive\r\n\r\n");
  CHECK(response_head(response, Framing::kChunks, 0, false).find("transfer-encoding: chunked") !=
        std::string::npos);
  CHECK(response_head(response, Framing::kClose, 0, false).find("content-length") ==
        std::string::npos);
}

TEST_CASE("a preflight is a question before the question") {
  const Visitors visitors;
  CHECK(visitors.preflight(request({{"access-control-request-method", "POST"}}, "OPTIONS")));
  CHECK_FALSE(visitors.preflight(request({}, "OPTIONS")));
  const auto answer = visitors.preflight(
      request({{"access-control-request-method", "PATCH"},
               {"access-control-request-headers", "authorization,x-stainless-os"},
               {"access-control-request-private-network", "true"}},
              "OPTIONS"));
  REQUIRE(answer);
  const std::string head = response_head(*answer, Framing::kLength, 0, true);
  for (const char* line : {"allow-methods: PATCH\r\n", "allow-private-network: true\r\n",
                           "allow-headers: authorization,x-stainless-os\r\n"})
    CHECK(head.find(std::string("\r\naccess-control-") + line) != std::string::npos);
  CHECK_FALSE(visitors.preflight(request({{"access-control-request-method", "POST"}}, "POST")));
}

}  // namespace
}  // namespace pc::serve
