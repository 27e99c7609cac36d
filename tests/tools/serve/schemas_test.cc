#include "tools/serve/schemas.h"

#include <catch2/catch.hpp>

#include "tools/serve/api_error.h"

namespace pc::serve {
namespace {

std::string refused(Schemas* schemas, const std::string& name, std::size_t n_bytes) {
  try {
    schemas->keep(name, nullptr, n_bytes);
  } catch (const ApiError& error) {
    CHECK(error.status() == 400);
    return error.openai()["error"]["code"].string();
  }
  return "";
}

TEST_CASE("schemas are kept by name, and replaced") {
  Schemas schemas;
  schemas.keep("b", nullptr, 10);
  schemas.keep("a", nullptr, 10);
  schemas.keep("b", nullptr, 10);
  REQUIRE(schemas.all().size() == 2);
  CHECK(schemas.all()[0].first == "a");
  CHECK_NOTHROW(schemas.find("a"));
  schemas.remove("a");
  CHECK_THROWS_AS(schemas.find("a"), ApiError);
  CHECK_THROWS_AS(schemas.remove("a"), ApiError);
}

TEST_CASE("there is room for so many schemas, and so many bytes of them") {
  Schemas many, large;
  for (std::size_t i = 0; i < Schemas::kMost; ++i)
    CHECK(refused(&many, "s" + std::to_string(i), 1).empty());
  CHECK(refused(&many, "another", 1) == "schema_limit_exceeded");
  CHECK(refused(&many, "s0", 1).empty());  // replaces itself
  many.remove("s1");
  CHECK(refused(&many, "another", 1).empty());

  CHECK(refused(&large, "a", Schemas::kMostBytes - 1).empty());
  CHECK(refused(&large, "b", 1).empty());
  CHECK(refused(&large, "b", 2) == "schema_limit_exceeded");
  CHECK(refused(&large, "a", 2).empty());
  CHECK(refused(&large, "b", 2).empty());
}

}  // namespace
}  // namespace pc::serve
