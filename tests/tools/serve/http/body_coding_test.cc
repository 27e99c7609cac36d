#include "tools/serve/http/body_coding.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>

namespace pc::serve {
namespace {

template <std::size_t N>
std::string bytes(const char (&text)[N]) {
  return {text, N - 1};
}

// "abcabcabc", as Python's zlib and gzip pack it.
const std::string kDeflate = bytes("\x4b\x4c\x4a\x4e\x04\x23\x00");
const std::string kSum = bytes("\x18\x48\x2d\x46"), kLength = bytes("\x09\x00\x00\x00");
const std::string kHead = bytes("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03");
const std::string kGzip = kHead + kDeflate + kSum + kLength;
const std::string kZlib = bytes("\x78\x9c") + kDeflate + bytes("\x11\x3d\x03\x73");
const std::string kText = "abcabcabc";

HttpRequest packed(const std::string& coding, std::string body) {
  HttpRequest request;
  request.headers = {{"content-encoding", coding}};
  request.body = std::move(body);
  return request;
}

std::string unpacked(const std::string& coding, const std::string& body) {
  HttpRequest request = packed(coding, body);
  CHECK_FALSE(unpack_body(&request, 1000));
  return request.body;
}

int refused(const std::string& coding, const std::string& body, std::size_t most = 1000) {
  HttpRequest request = packed(coding, body);
  const auto problem = unpack_body(&request, most);
  REQUIRE(problem);
  CHECK(!problem->sentence.empty());
  CHECK(request.body == body);
  return problem->status;
}

TEST_CASE("gzip and deflate are unpacked, and what is not packed stays") {
  CHECK(unpacked("gzip", kGzip) == kText);
  CHECK(unpacked("X-Gzip", kGzip) == kText);
  CHECK(unpacked("deflate", kZlib) == kText);
  CHECK(unpacked("deflate", kDeflate) == kText);  // without a head, as some clients send it
  CHECK(unpacked("gzip", kGzip + kGzip) == kText + kText);
  CHECK(unpacked("identity", "abc") == "abc");
  CHECK(unpacked("zstd", "").empty());
  HttpRequest plain;
  plain.body = kGzip;
  CHECK_FALSE(unpack_body(&plain, 1));
  CHECK(plain.body == kGzip);
}

TEST_CASE("a head of gzip may have names, a comment, more and a sum of its own") {
  const std::string head = bytes("\x1f\x8b\x08\x1e\x00\x00\x00\x00\x00\x03") + bytes("\x02\x00xy") +
                           bytes("name\x00") + bytes("comment\x00") + bytes("\x00\x00");
  CHECK(unpacked("gzip", head + kDeflate + kSum + kLength) == kText);
  for (std::size_t n = 1; n < head.size(); ++n) CHECK(refused("gzip", head.substr(0, n)) == 400);
}

TEST_CASE("what is cut off, changed or has something behind it is refused") {
  for (std::size_t n = 1; n < kGzip.size(); ++n) CHECK(refused("gzip", kGzip.substr(0, n)) == 400);
  for (std::size_t n = 3; n < kZlib.size(); ++n)
    CHECK(refused("deflate", kZlib.substr(0, n)) == 400);
  for (std::size_t i = kHead.size() + kDeflate.size(); i < kGzip.size(); ++i) {
    std::string body = kGzip;
    body[i] = static_cast<char>(body[i] ^ 1);
    CHECK(refused("gzip", body) == 400);
  }
  std::string other = kZlib;
  other.back() = static_cast<char>(other.back() ^ 1);
  CHECK(refused("deflate", other) == 400);
  CHECK(refused("gzip", kGzip + "x") == 400);
  CHECK(refused("deflate", kZlib + "x") == 400);
  CHECK(refused("deflate", kDeflate + "x") == 400);
  CHECK(refused("gzip", kZlib) == 400);
  CHECK(refused("gzip", "{}") == 400);
}

TEST_CASE("the bound is of what is unpacked, of all members together") {
  CHECK(refused("gzip", kGzip, 8) == 413);
  CHECK(refused("deflate", kZlib, 8) == 413);
  CHECK(refused("gzip", kGzip + kGzip, 17) == 413);
  HttpRequest request = packed("gzip", kGzip + kGzip);
  CHECK_FALSE(unpack_body(&request, 18));
}

TEST_CASE("a coding that is not read is refused by name") {
  for (const char* const coding : {"zstd", "br", "gzip, gzip", "compress"}) {
    HttpRequest request = packed(coding, kGzip);
    const auto problem = unpack_body(&request, 1000);
    REQUIRE(problem);
    CHECK(problem->status == 415);
    CHECK(problem->sentence.find(coding) != std::string::npos);
  }
}

}  // namespace
}  // namespace pc::serve
