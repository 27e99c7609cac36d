// Runs the C program over a tiny checkpoint. PC_C_API_TEST is its path.

#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/support/tiny_checkpoint.h"

namespace pc::test {

TEST_CASE("a C99 program uses the whole API") {
  const TinyCheckpoint checkpoint(1);
  const TempFolder cache;
  REQUIRE(std::system((std::string(PC_C_API_TEST) + " " + checkpoint.path() + " " + cache.path())
                          .c_str()) == 0);
}

}  // namespace pc::test
