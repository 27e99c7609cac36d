#include "runtime/chat/whole/dropped_calls.h"

#include <string>

#include "runtime/jinja/library/json.h"

namespace pc {
namespace {

// A word that stands nowhere else in a template's text: the call's name and its argument, since
// some write names in their own idents alone.
constexpr const char* kCalled = "quorvexil";

// Templates that write calls only where there are tools have one, of another name.
constexpr const char* kTools =
    R"([{"type": "function", "function": {"name": "f", "description": "d",
         "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}}])";

std::string messages(const char* content, const char* arguments) {
  return std::string(R"([{"role": "user", "content": "q"}, {"role": "assistant", "content": )") +
         content + R"(, "tool_calls": [{"id": "abcdefghi", "type": "function", "function":
         {"name": ")" +
         kCalled + R"(", "arguments": )" + arguments + R"(}}]},
         {"role": "tool", "name": "f", "tool_call_id": "abcdefghi", "content": "r"}])";
}

}  // namespace

bool drops_calls(const ChatProgram& program, const ChatClock& clock) {
  bool renders = false;
  for (const char* const arguments : {R"({"a": "quorvexil"})", R"("{\"a\": \"quorvexil\"}")"}) {
    for (const char* const content : {R"("")", "null"}) {
      const auto list = jinja::value_from_json(messages(content, arguments), "messages");
      const auto tools = jinja::value_from_json(kTools, "tools");
      if (!list.ok() || !tools.ok()) continue;
      const auto text = program.render(*list, *tools, {.clock = clock});
      if (!text.ok()) continue;
      if (text->find(kCalled) != std::string::npos) return false;
      renders = true;
    }
  }
  return renders;
}

}  // namespace pc
