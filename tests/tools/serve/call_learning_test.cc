// How models write calls of tools, learned from their templates: round trips over published ones.

#include "tools/serve/call_learning.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "runtime/chat/chat_program.h"
#include "runtime/chat/jinja_json.h"
#include "tools/serve/call_reader.h"

namespace pc::serve {
namespace {

// The published templates, or null where they are not at hand.
Json published() {
  const char* const shared = std::getenv("PC_SHARED_DIR");
  if (!shared) return Json();
  std::ifstream file(std::string(shared) + "/assets/chat_templates/templates.json");
  return Json::read(std::string(std::istreambuf_iterator<char>(file), {}));
}

RenderConversation renderer(const ChatProgram& program) {
  return [&program](const Json& conversation) -> std::optional<std::string> {
    auto messages = jinja::value_from_json(conversation["messages"].dump(), "messages");
    auto tools = jinja::value_from_json(conversation["tools"].dump(), "tools");
    REQUIRE(messages.ok());
    REQUIRE(tools.ok());
    auto text = program.render(*messages, *tools, {});
    return text.ok() ? std::optional(*text) : std::nullopt;
  };
}

TEST_CASE("calls of published templates are learned") {
  const Json templates = published();
  if (templates.is_null()) {
    WARN("skipped: PC_SHARED_DIR has no published templates");
    return;
  }
  std::map<std::string, int> n;
  for (const Json& published : templates.items()) {
    auto program = ChatProgram::parse(published["template"].string(),
                                      {published["bos"].string(), published["eos"].string(), {}});
    if (!program.ok()) continue;
    const auto shape = learn_call_shape(renderer(*program));
    const bool mentions = published["template"].string().find("tool_calls") != std::string::npos;
    ++n[shape ? "learned" : mentions ? "NOT" : "none"];
    if (std::getenv("PC_PRINT"))
      std::printf("%s %s kind %d begin [%s] between [%s] end [%s] keys %s %s [%s] [%s] [%s] %d\n",
                shape ? "learned" : mentions ? "NOT" : "none", published["name"].string().c_str(), shape ? (int)shape->kind : 0,
                shape ? shape->begin.c_str() : "", shape ? shape->between.c_str() : "", shape ? shape->end.c_str() : "",
                shape ? shape->name_key.c_str() : "", shape ? shape->arguments_key.c_str() : "", shape ? shape->key_open.c_str() : "",
                shape ? shape->key_close.c_str() : "", shape ? shape->value_close.c_str() : "", shape ? shape->has_lines : 0);
  }
  for (const auto& [what, count] : n) std::printf("%s %d\n", what.c_str(), count);
}

}  // namespace
}  // namespace pc::serve
