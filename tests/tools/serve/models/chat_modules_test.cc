// Which parts of a conversation are modules, in each mode; clients' marks never reach a template.
#include "tools/serve/models/chat_modules.h"

#include <catch2/catch.hpp>

namespace pc::serve {
namespace {

const char* const kChat = R"({"messages": [
  {"role": "system", "content": "Be brief."},
  {"role": "user", "content": [{"type": "text", "text": "a page", "marked": true},
                               {"type": "text", "text": "a question", "marked": false}]}],
  "tools": [{"type": "function", "function": {"name": "f"}, "marked": true},
            {"type": "function", "function": {"name": "g"}}]})";

Json made(Mode mode) {
  return with_modules(Json::read(kChat), mode,
                      [](const std::string& text) { return text == "a page"; });
}

bool is_module(const Json& json) {
  return json["module"].truth();
}

}  // namespace

TEST_CASE("each mode makes its own parts modules") {
  for (const Mode mode : {Mode::kPrefix, Mode::kMarked, Mode::kTools, Mode::kDocuments}) {
    INFO(name_of(mode));
    const Json chat = made(mode);
    const auto parts = chat["messages"].items()[1]["content"].items();
    const auto tools = chat["tools"].items();
    CHECK(front_of(chat).has_value() == (mode != Mode::kPrefix));
    CHECK(is_module(parts[0]) == (mode == Mode::kMarked || mode == Mode::kDocuments));
    CHECK_FALSE(is_module(parts[1]));
    CHECK(is_module(tools[0]) == (mode == Mode::kMarked || mode == Mode::kTools));
    CHECK(is_module(tools[1]) == (mode == Mode::kTools));
    CHECK(chat.dump().find("marked") == std::string::npos);
    CHECK(chat["messages"].items()[0]["content"] == Json("Be brief."));
  }
}

TEST_CASE("a content that is one text may be a document") {
  const Json chat =
      with_modules(Json::read(R"({"messages": [{"role": "user", "content": "a page"}]})"),
                   Mode::kDocuments, [](const std::string&) { return true; });
  CHECK(is_module(chat["messages"].items()[0]["content"].items()[0]));
}

TEST_CASE("what a client calls a module is none unless the mode says so") {
  const Json chat = with_modules(Json::read(R"({"messages": [{"role": "user", "content": "x"}],
                     "tools": [{"type": "function", "module": true}]})"),
                                 Mode::kPrefix, nullptr);
  CHECK(chat["tools"].items()[0]["module"].is_null());
}

TEST_CASE("what stands in front of the modules is what they saw") {
  const auto marked = front_of(made(Mode::kMarked)), tools = front_of(made(Mode::kTools));
  REQUIRE(marked);
  CHECK(marked->said == "Be brief.");
  CHECK(marked->first == "a page");
  REQUIRE(tools);
  CHECK(tools->said == "Be brief.");
  CHECK(tools->first.find(R"("name":"f")") != std::string::npos);
  const auto later = front_of(Json::read(R"({"messages": [
      {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"},
      {"role": "assistant", "content": "Ann."},
      {"role": "user", "content": [{"text": "nonce"}, {"text": "a page", "module": true}]}]})"));
  REQUIRE(later);
  CHECK(later->said == "Be brief.");
  const auto within = front_of(Json::read(R"({"messages": [
      {"role": "user", "content": [{"text": "nonce"}, {"text": "a page", "module": true}]}]})"));
  REQUIRE(within);
  CHECK(within->said == "nonce");
}

}  // namespace pc::serve
