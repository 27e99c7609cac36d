// What was prepared is found by the request that goes on, once.
#include "tools/serve/models/prepared_turns.h"

#include <catch2/catch.hpp>

namespace pc::serve {
namespace {

Question question(const std::string& messages, NameSpace space = std::nullopt) {
  Question question;
  question.chat = Json::read("{\"messages\": [" + messages + "]}");
  question.name_space = std::move(space);
  return question;
}

const std::string kBegin = R"({"role": "user", "content": "Hi"}, )";

TEST_CASE("a turn that was prepared is found by what was said before it, and once") {
  PreparedTurns turns;
  turns.add(question(kBegin +
                     R"({"role": "assistant", "content": "Ho"}, {"role": "user", "content": "?"})"),
            70);
  const std::string next = R"(, {"role": "user", "content": "And then?"})";
  CHECK_FALSE(turns.take(question(kBegin + R"({"role": "assistant", "content": "No"})" + next)));
  CHECK_FALSE(turns.take(question(R"({"role": "user", "content": "Hi"})")));
  CHECK_FALSE(
      turns.take(question(kBegin + R"({"role": "assistant", "content": "Ho"})" + next, "other")));
  const std::string parts = R"({"role": "assistant", "content": [{"type": "text", "text": "Ho"}]})";
  CHECK(turns.take(question(kBegin + parts + next)) == 70u);
  CHECK_FALSE(turns.take(question(kBegin + parts + next)));
}

TEST_CASE("calls tell conversations apart") {
  PreparedTurns turns;
  const auto called = [](const char* name) {
    return question(
        kBegin +
        R"({"role": "assistant", "content": null, "tool_calls": [{"function": {"name": ")" + name +
        R"(", "arguments": "{}"}}]}, {"role": "tool", "content": "1"})");
  };
  turns.add(called("rain"), 40);
  CHECK_FALSE(turns.take(called("sun")));
  CHECK(turns.take(called("rain")) == 40u);
}

TEST_CASE("of too many, the latest are remembered") {
  PreparedTurns turns(2);
  const auto about = [](const std::string& text) {
    return question(R"({"role": "assistant", "content": ")" + text + R"("})");
  };
  for (const char* const text : {"one", "two", "three"}) turns.add(about(text), 1);
  CHECK_FALSE(turns.take(about("one")));
  CHECK(turns.take(about("two")));
  CHECK(turns.take(about("three")));
}

}  // namespace
}  // namespace pc::serve
