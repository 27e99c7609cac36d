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

Json made(Mode mode, bool* has_modules) {
  return with_modules(
      Json::read(kChat), mode, [](const std::string& text) { return text == "a page"; },
      has_modules);
}

bool is_module(const Json& json) {
  return json["module"].truth();
}

}  // namespace

TEST_CASE("each mode makes its own parts modules") {
  for (const Mode mode : {Mode::kPrefix, Mode::kMarked, Mode::kTools, Mode::kDocuments}) {
    INFO(name_of(mode));
    bool has_modules = false;
    const Json chat = made(mode, &has_modules);
    const auto parts = chat["messages"].items()[1]["content"].items();
    const auto tools = chat["tools"].items();
    CHECK(has_modules == (mode != Mode::kPrefix));
    CHECK(is_module(parts[0]) == (mode == Mode::kMarked || mode == Mode::kDocuments));
    CHECK_FALSE(is_module(parts[1]));
    CHECK(is_module(tools[0]) == (mode == Mode::kMarked || mode == Mode::kTools));
    CHECK(is_module(tools[1]) == (mode == Mode::kTools));
    CHECK(chat.dump().find("marked") == std::string::npos);
    CHECK(chat["messages"].items()[0]["content"] == Json("Be brief."));
  }
}

TEST_CASE("a content that is one text may be a document") {
  bool has_modules = false;
  const Json chat = with_modules(
      Json::read(R"({"messages": [{"role": "user", "content": "a page"}]})"), Mode::kDocuments,
      [](const std::string&) { return true; }, &has_modules);
  CHECK(has_modules);
  CHECK(is_module(chat["messages"].items()[0]["content"].items()[0]));
}

TEST_CASE("what a client calls a module is none unless the mode says so") {
  bool has_modules = true;
  const Json chat = with_modules(Json::read(R"({"messages": [{"role": "user", "content": "x"}],
                     "tools": [{"type": "function", "module": true}]})"),
                                 Mode::kPrefix, nullptr, &has_modules);
  CHECK_FALSE(has_modules);
  CHECK(chat["tools"].items()[0]["module"].is_null());
}

}  // namespace pc::serve
