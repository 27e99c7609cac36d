// Spans joined, and tokens dealt back to them.
#include "runtime/tokenizer/text/joint_text.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace pc;

namespace {

JointText join(const std::vector<pml::TextSpan>& spans) {
  auto joint = JointText::join(spans);
  if (!joint.ok()) FAIL(joint.error().message);
  return std::move(joint).value();
}

}  // namespace

TEST_CASE("spans of one kind that touch are one run, and empty ones are none") {
  const JointText joint =
      join({{"", true}, {"ab", true}, {"", false}, {"c", true}, {"d"}, {"", true}, {"ef"}});
  CHECK(joint.text() == "abcdef");
  REQUIRE(joint.regions().size() == 2);
  CHECK(
      (joint.regions()[0].begin == 0 && joint.regions()[0].end == 3 && joint.regions()[0].markup));
  CHECK(
      (joint.regions()[1].begin == 3 && joint.regions()[1].end == 6 && !joint.regions()[1].markup));
  CHECK(joint.borders_inside(0, 6) == std::vector<std::size_t>{2, 3, 4});
  CHECK(joint.borders_inside(1, 4) == std::vector<std::size_t>{1, 2});
  CHECK(joint.borders_inside(2, 3).empty());
}

TEST_CASE("a token goes to the span that holds its first byte") {
  JointText joint = join({{"ab"}, {""}, {"cd"}, {""}, {"ef"}});
  joint.add(1, 0);
  const auto borders = joint.borders_inside(1, 6);
  CHECK(borders == std::vector<std::size_t>{1, 3});
  const std::size_t counts[] = {1, 1};  // one token before the first border and the second
  joint.add({2, 3, 4}, 1, counts);
  CHECK(std::move(joint).take_tokens() == std::vector<Tokens>{{1, 2}, {}, {}, {}, {3, 4}});
}
