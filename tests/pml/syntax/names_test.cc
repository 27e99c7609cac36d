#include "pml/syntax/names.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace pc::pml;
using Names = std::vector<std::string_view>;

TEST_CASE("the nearest name has the fewest slips") {
  const Names known = {"trip-plan", "miami", "tokyo", "paris"};
  CHECK(nearest_name("miamy", known) == "miami");  // a letter wrong
  CHECK(nearest_name("tokio", known) == "tokyo");
  CHECK(nearest_name("pari", known) == "paris");    // missing
  CHECK(nearest_name("parris", known) == "paris");  // too many
  CHECK(nearest_name("imami", known) == "miami");   // swapped
  CHECK(nearest_name("tripplan", known) == "trip-plan");
  CHECK_FALSE(nearest_name("london", known));
  CHECK_FALSE(nearest_name("", known));
}

TEST_CASE("one-letter names are not taken for each other") {
  const Names known = {"E", "N", "T", "P"};
  CHECK_FALSE(nearest_name("X", known));
}

TEST_CASE("the hint suggests the nearest name, else lists what is known") {
  CHECK(name_hint("miamy", Names{"miami"}) == "; did you mean 'miami'?");
  CHECK(name_hint("x", Names{"red", "green"}) == "; known here: 'red', 'green'");
  CHECK(name_hint("x", Names{}).empty());
  const Names many = {"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"};
  CHECK(name_hint("zz", many) ==
        "; known here: 'a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7', 'a8', ...");
}

TEST_CASE("long names are shortened at a character's start, and not compared") {
  const std::string name = std::string(63, 'x') + "\xC3\xA9" + std::string(1000, 'y');
  CHECK(quote(name) == "'" + std::string(63, 'x') + "...'");
  CHECK_FALSE(nearest_name(name, Names{"x"}));
  CHECK_FALSE(nearest_name("x", Names{name}));
}
