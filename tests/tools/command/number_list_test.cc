#include "tools/command/number_list.h"

#include <catch2/catch.hpp>

using namespace pc::cli;

namespace {

using Numbers = std::vector<std::uint32_t>;

Numbers numbers(const std::string& text) {
  std::string why;
  const auto list = parse_number_list(text, &why);
  REQUIRE(list);
  CHECK(why.empty());
  return *list;
}

std::string refused(const std::string& text) {
  std::string why;
  CHECK(!parse_number_list(text, &why));
  return why;
}

}  // namespace

TEST_CASE("commas and ranges") {
  CHECK(numbers("512") == Numbers{512});
  CHECK(numbers("0,512,512") == Numbers{0, 512, 512});
  CHECK(numbers("1-4") == Numbers{1, 2, 3, 4});
  CHECK(numbers("0-10+4") == Numbers{0, 4, 8});
  CHECK(numbers("1-64*4") == Numbers{1, 4, 16, 64});
  CHECK(numbers("3-20*3") == Numbers{3, 9});
  CHECK(numbers("7-7") == Numbers{7});
  CHECK(numbers("0-0*2,5") == Numbers{0, 5});
  CHECK(numbers("16,128-512*2,1-2") == Numbers{16, 128, 256, 512, 1, 2});
  CHECK(numbers("4294967294-4294967295") == Numbers{4294967294u, 4294967295u});
}

TEST_CASE("what is no list is refused with its part") {
  for (const std::string text :
       {"", "x", "-1", "1,", ",1", "1-", "1-2+", "1-2/2", "1-2*x", "1 ", "4294967296"})
    CHECK(refused(text).find("is neither a whole number nor a range") != std::string::npos);
  CHECK(refused("1,4-2") == "\"4-2\" is empty: its first number is above its last");
  for (const std::string text : {"1-4+0", "1-4*1", "1-4*0", "0-8*2"})
    CHECK(refused(text) == "\"" + text + "\" does not come to its end");
  CHECK(refused("0-4294967295") == "\"0-4294967295\" has more than 10000 numbers");
}
