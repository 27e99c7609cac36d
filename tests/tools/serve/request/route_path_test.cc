#include "tools/serve/request/route_path.h"

#include <catch2/catch.hpp>

#include "tools/serve/request/api_error.h"

namespace pc::serve {
namespace {

TEST_CASE("a route is its path, and a star one segment") {
  CHECK(leads_to("/a/b", "/a/b"));
  CHECK_FALSE(leads_to("/a/b/", "/a/b"));
  CHECK(leads_to("/a/b", "/a/*"));
  for (const char* const path : {"/a/", "/a", "/a/b/c", "/a/b/", "/x/b", ""})
    CHECK_FALSE(leads_to(path, "/a/*"));
  CHECK_FALSE(leads_to("/a/b", "/*/b"));  // only at the end
}

TEST_CASE("a name is read without percent signs") {
  CHECK(name_in("/a/b-1.x") == "b-1.x");
  CHECK(name_in("/a/%C3%B6l%2fx") == "\xC3\xB6l/x");
  for (const char* const path : {"/a/%", "/a/b%4", "/a/%zz", "/a/%+1", "/a/%-1", "/a/%00"})
    CHECK_THROWS_AS(name_in(path), ApiError);
}

TEST_CASE("a query's value is that of the first field of this name") {
  CHECK(value_in("a=1&model=b%20c&model=d", "model") == "b c");
  CHECK(value_in("amodel=1&model&models=2&model=", "model").empty());
  CHECK(value_in("", "model").empty());
  CHECK(value_in("&&model=x=y", "model") == "x=y");
  CHECK_THROWS_AS(value_in("model=%z", "model"), ApiError);
}

}  // namespace
}  // namespace pc::serve
