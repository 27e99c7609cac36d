#include "tools/serve/answer/next_turn.h"

#include <catch2/catch.hpp>

namespace pc::serve {
namespace {

Question asked(const char* messages) {
  Question question;
  question.chat = Json::object().set("messages", Json::read(messages)).set("tools", Json::array());
  return question;
}

GatheredAnswer answered(const char* text) {
  GatheredAnswer answer;
  answer.blocks = {{.kind = Block::Kind::kThought, .text = "Hm."},
                   {.kind = Block::Kind::kText, .text = text}};
  return answer;
}

TEST_CASE("an answer stands in the history without its thoughts, and something behind it") {
  const Question question = asked(R"([{"role":"user","content":"Hi"}])");
  const auto next = next_turn(question, answered("Hello."));
  REQUIRE(next);
  CHECK(next->chat["messages"] == Json::read(R"([{"role":"user","content":"Hi"},
      {"role":"assistant","content":"Hello."},{"role":"user","content":"?"}])"));
  CHECK(next->chat["tools"] == question.chat["tools"]);
}

TEST_CASE("behind calls stand their results") {
  GatheredAnswer answer;
  answer.blocks = {{.kind = Block::Kind::kCall, .call = {"c1", "rain", R"({"of": "Oslo"})"}},
                   {.kind = Block::Kind::kCall, .call = {"c2", "wind", "{}"}}};
  const auto next = next_turn(asked(R"([{"role":"user","content":"Hi"}])"), answer);
  REQUIRE(next);
  CHECK(next->chat["messages"] == Json::read(R"([{"role":"user","content":"Hi"},
      {"role":"assistant","content":"","tool_calls":[
         {"id":"c1","type":"function","function":{"name":"rain","arguments":{"of":"Oslo"}}},
         {"id":"c2","type":"function","function":{"name":"wind","arguments":{}}}]},
      {"role":"tool","tool_call_id":"c1","name":"rain","content":"?"},
      {"role":"tool","tool_call_id":"c2","name":"wind","content":"?"}])"));
}

TEST_CASE("what does not go on so has no next turn") {
  const Question question = asked(R"([{"role":"user","content":"Hi"}])");
  const GatheredAnswer answer = answered("Hello.");
  const auto has_next = [&](auto change) {
    Question other = question;
    change(&other);
    return next_turn(other, answer).has_value();
  };
  CHECK(has_next([](Question*) {}));
  CHECK_FALSE(has_next([](Question* q) { q->chat = Json(); }));
  CHECK_FALSE(has_next([](Question* q) { q->mode = Mode::kOff; }));
  CHECK_FALSE(has_next([](Question* q) { q->n = 2; }));
  CHECK_FALSE(has_next([](Question* q) {
    q->chat.set("messages", Json::read(R"([{"role":"assistant","content":"I be"}])"));
  }));
  CHECK_FALSE(next_turn(question, GatheredAnswer()));
  GatheredAnswer cut = answer;
  cut.finish.cuts_call = true;
  CHECK_FALSE(next_turn(question, cut));
}

}  // namespace
}  // namespace pc::serve
