// Texts are counted by namespace, and of too many those that came last.
#include "tools/serve/models/sightings.h"

#include <catch2/catch.hpp>

namespace pc::serve {

TEST_CASE("each coming of a text counts, in its namespace alone; being asked for does not") {
  Sightings sightings;
  CHECK(sightings.see("a", "text", false) == 1);
  CHECK(sightings.see("a", "text", true) == 1);
  CHECK(sightings.see("a", "text", true) == 2);
  CHECK(sightings.see("a", "text", false) == 3);
  CHECK(sightings.see("a", "text", true) == 3);
  CHECK(sightings.see("b", "text", true) == 1);
}

TEST_CASE("what has not come for the longest is forgotten") {
  Sightings sightings(2);
  sightings.see("", "one", true);
  sightings.see("", "two", true);
  sightings.see("", "one", true);
  sightings.see("", "three", true);  // two goes
  CHECK(sightings.see("", "one", true) == 3);
  CHECK(sightings.see("", "two", true) == 1);
}

}  // namespace pc::serve
