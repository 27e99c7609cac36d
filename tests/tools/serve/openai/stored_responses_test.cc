#include "tools/serve/openai/stored_responses.h"

#include <catch2/catch.hpp>

namespace pc::serve {
namespace {

TEST_CASE("responses are found until they are removed") {
  StoredResponses stored;
  stored.put("a", {"{}", "[]"});
  REQUIRE(stored.find("a"));
  CHECK(stored.find("a")->response == "{}");
  CHECK(stored.find("a")->conversation == "[]");
  CHECK(stored.remove("a"));
  CHECK_FALSE(stored.remove("a"));
  CHECK_FALSE(stored.find("a"));
}

TEST_CASE("what was used longest ago goes when there are too many") {
  StoredResponses stored;
  for (std::size_t i = 0; i < StoredResponses::kMost; ++i) stored.put(std::to_string(i), {});
  CHECK(stored.find("0"));  // used just now
  stored.put("one more", {});
  CHECK(stored.find("0"));
  CHECK_FALSE(stored.find("1"));
  CHECK(stored.find("2"));
}

TEST_CASE("and when they have too many bytes, be it one alone") {
  StoredResponses stored;
  const std::string third(StoredResponses::kMostBytes / 3, 'x');
  for (const char* const id : {"a", "b", "c"}) stored.put(id, {third, ""});
  CHECK(stored.find("a"));
  stored.put("d", {"", third});
  CHECK_FALSE(stored.find("b"));
  CHECK(stored.find("a"));
  stored.put("e", {third + third, third + third});
  CHECK_FALSE(stored.find("e"));
  stored.put("f", {"{}", "[]"});
  CHECK(stored.find("f"));
}

}  // namespace
}  // namespace pc::serve
