#include "tools/serve/http/http_target.h"

#include <catch2/catch.hpp>
#include <string>

namespace pc::serve {
namespace {

TEST_CASE("a path has one spelling") {
  for (const char* const text : {"/v1/models", "//v1/models", "/v1//models", "/v1/models/",
                                 "/v1/%6Dodels", "/%76%31/models//", "/v1/models#top"})
    CHECK(target_of(text).path == "/v1/models");
  for (const char* const text : {"/", "//", "///", "", "?a=b", "#"})
    CHECK(target_of(text).path == "/");
  CHECK(target_of("*").path == "*");
}

TEST_CASE("what a percent sign keeps apart stays apart") {
  for (const char* const text :
       {"/a%2Fb", "/a%2fb", "/%00", "/%C3%B6", "/%", "/%4", "/%zz", "/%+1", "/a%3Fb", "/%25 6D"})
    CHECK(target_of(text).path == text);
}

TEST_CASE("a query is everything behind the first question mark, as it was sent") {
  const Target target = target_of("/a//b/?x=//&y=%6D?/");
  CHECK(target.path == "/a/b");
  CHECK(target.query == "x=//&y=%6D?/");
  CHECK(target_of("/a?b#c").query == "b");
}

TEST_CASE("a target may have its server in front, as to a proxy") {
  const Target target = target_of("HTTP://localhost:8080/v1/models?a=b");
  CHECK(target.authority == "localhost:8080");
  CHECK(target.path == "/v1/models");
  CHECK(target.query == "a=b");
  CHECK(target_of("https://evil.example").authority == "evil.example");
  CHECK(target_of("https://evil.example").path == "/");
  CHECK(target_of("http://a?b").query == "b");
  CHECK(target_of("/http://a/b").authority.empty());
}

}  // namespace
}  // namespace pc::serve
