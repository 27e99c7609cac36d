// Keys of a file: who has one is let into its namespace, and a file that is none is refused by its
// line.
#include "tools/serve/service/api_keys.h"

#include <catch2/catch.hpp>

namespace pc::serve {
namespace {

// printf %s secret | sha256sum
constexpr const char* kSecret = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

HttpRequest with(const char* header, const char* value) {
  HttpRequest request;
  request.headers.push_back({header, value});
  return request;
}

std::string problem(const std::string& text) {
  try {
    ApiKeys::read(text, "keys");
  } catch (const KeyFileError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a key is found in either header, and nothing else is one") {
  const ApiKeys keys = ApiKeys::read("# who\n\nann " + std::string(kSecret) + "\n", "keys");
  CHECK(keys.are_needed());
  CHECK(keys.name_spaces() == std::vector<std::string>{"ann"});
  CHECK(**keys.name_space_of(with("authorization", "Bearer secret")) == "ann");
  CHECK(**keys.name_space_of(with("authorization", "bearer secret")) == "ann");
  CHECK(**keys.name_space_of(with("x-api-key", "secret")) == "ann");
  CHECK_FALSE(keys.name_space_of({}));
  CHECK_FALSE(keys.name_space_of(with("authorization", "secret")));
  CHECK_FALSE(keys.name_space_of(with("authorization", "Basic secret")));
  CHECK_FALSE(keys.name_space_of(with("x-api-key", kSecret)));  // who reads the file has no key
  CHECK_FALSE(keys.name_space_of(with("x-api-key", "")));
}

TEST_CASE("a key that is wrong is told from none") {
  CHECK(ApiKeys::has_key(with("authorization", "Bearer other")));
  CHECK(ApiKeys::has_key(with("x-api-key", "other")));
  CHECK_FALSE(ApiKeys::has_key({}));
  CHECK_FALSE(ApiKeys::has_key(with("x-api-key", "")));
  CHECK_FALSE(ApiKeys::has_key(with("authorization", "Basic other")));
  CHECK_FALSE(ApiKeys::has_key(with("authorization", "Bearer ")));
}

TEST_CASE("without a file everybody may ask, in the server's own namespace") {
  const auto own = ApiKeys().name_space_of({});
  REQUIRE(own);
  CHECK_FALSE(*own);
}

TEST_CASE("a file that is no list of keys is refused by its line") {
  const std::string secret(kSecret);
  CHECK(problem("ann\n").find("keys:1:") == 0);
  CHECK(problem("# x\nann 12\n").find("keys:2:") == 0);
  CHECK(problem("a/b " + secret).find("keys:1:") == 0);
  CHECK(problem("ann " + secret + " more").find("keys:1:") == 0);
  CHECK(problem("ann " + secret + "\nbob " + secret).find("keys:2:") == 0);
  CHECK(problem("# nothing").find("no key") != std::string::npos);
}

}  // namespace pc::serve
