#include "tools/answers/approximation.h"

#include <catch2/catch.hpp>

using namespace pc::cli;

namespace {

Json plan(const char* runs) {
  return parse_report(std::string("{\"runs\": [") + runs + "]}");
}

constexpr char kText[] = R"({"kind": "text", "label": ""},)";

}  // namespace

TEST_CASE("modules that have seen all that stands before them need no words") {
  CHECK(approximation(plan("")) == "");
  CHECK(approximation(plan(
            (std::string(kText) + R"({"kind": "cached", "label": "a", "exact": true})").c_str())) ==
        "");
}

TEST_CASE("what is computed anew as a whole is not approximate") {
  const Json anew = plan(R"({"kind": "cached", "label": "a", "exact": false, "repair": "all"})");
  const Json part = plan(R"({"kind": "cached", "label": "a", "exact": false, "repair": "none"})");
  CHECK(approximation(anew) == "");
  CHECK(approximation(anew, "none") != "");
  CHECK(approximation(part) != "");
  CHECK(approximation(part, "all") == "");
}

TEST_CASE("a module counts once, however many runs it is cut into") {
  CHECK(approximation(plan((std::string(kText) + R"({"kind": "cached", "label": "a", "exact": true},
          {"kind": "cached", "label": "b", "exact": true}, {"kind": "cached", "label": "b", "exact": false},
          {"kind": "cached", "label": "c", "exact": false}, {"kind": "cached", "label": "c", "exact": false})")
                               .c_str())) ==
        "2 of 3 modules have not seen what stands before them here: the answer is approximate");
}
