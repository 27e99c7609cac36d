#include "tools/serve/models/schemas.h"

#include <catch2/catch.hpp>

#include "tools/serve/request/api_error.h"

namespace pc::serve {
namespace {

const Schemas::Make kNever = [](const std::string&) -> Schemas::Handle {
  FAIL("it is there already");
  return nullptr;
};

std::string refused(Schemas* schemas, const std::string& name, std::size_t n_bytes) {
  try {
    schemas->keep(name, nullptr, std::string(n_bytes, ' '));
  } catch (const ApiError& error) {
    CHECK(error.status() == 400);
    return error.openai()["error"]["code"].string();
  }
  return "";
}

TEST_CASE("schemas are kept by name, and replaced") {
  Schemas schemas;
  schemas.keep("b", nullptr, "the text of b");
  schemas.keep("a", nullptr, "the text of a");
  schemas.keep("b", nullptr, "the text of b");
  REQUIRE(schemas.all(kNever).size() == 2);
  CHECK(schemas.all(kNever)[0].first == "a");
  CHECK_NOTHROW(schemas.find("a", kNever));
  schemas.remove("a");
  CHECK_THROWS_AS(schemas.find("a", kNever), ApiError);
  CHECK_THROWS_AS(schemas.remove("a"), ApiError);
}

TEST_CASE("when their model goes, schemas are made again of their texts, each once") {
  Schemas schemas;
  schemas.keep("a", nullptr, "the text of a");
  schemas.keep("b", nullptr, "the text of b");
  schemas.let_go();
  std::string made;
  const Schemas::Make make = [&](const std::string& pml) {
    made += pml + "\n";
    return nullptr;
  };
  schemas.find("b", make);
  schemas.find("b", make);
  CHECK(made == "the text of b\n");
  CHECK(schemas.all(make).size() == 2);
  CHECK(made == "the text of b\nthe text of a\n");
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
