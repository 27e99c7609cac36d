#include "tools/serve/request/answer_fields.h"

#include <catch2/catch.hpp>

namespace pc::serve {
namespace {

Json openai(const std::string& body, std::vector<std::string>* unread = nullptr) {
  Fields fields(read_body(body));
  const Json variables = openai_variables(fields);
  if (unread) *unread = fields.unread();
  return variables;
}

Json responses(const std::string& body) {
  Fields fields(read_body(body));
  return responses_variables(fields);
}

TEST_CASE("how hard to think is told to the template") {
  CHECK(openai("{}").is_null());
  CHECK(openai(R"({"reasoning_effort":"high"})") == Json::read(R"({"reasoning_effort":"high"})"));
  CHECK(openai(R"({"reasoning_effort":"none"})") == Json::read(R"({"enable_thinking":false})"));
  CHECK(openai(R"({"enable_thinking":true})") == Json::read(R"({"enable_thinking":true})"));
  CHECK(responses(R"({"reasoning":{"effort":"low"}})") ==
        Json::read(R"({"reasoning_effort":"low"})"));
  CHECK(responses(R"({"reasoning":{"effort":null}})").is_null());
}

TEST_CASE("what the template's own variables say counts") {
  std::vector<std::string> unread;
  CHECK(openai(R"({"reasoning_effort":"low","enable_thinking":true,
                   "chat_template_kwargs":{"enable_thinking":false,"date":"today"}})",
               &unread) ==
        Json::read(R"({"reasoning_effort":"low","enable_thinking":false,"date":"today"})"));
  CHECK(unread.empty());
}

TEST_CASE("an effort that is none is refused by its name") {
  CHECK_THROWS_AS(openai(R"({"reasoning_effort":"much"})"), ApiError);
  CHECK_THROWS_AS(openai(R"({"enable_thinking":"yes"})"), ApiError);
  CHECK_THROWS_AS(responses(R"({"reasoning":{"effort":3}})"), ApiError);
}

}  // namespace
}  // namespace pc::serve
