#include "runtime/chat/whole/content_parts.h"

#include <algorithm>
#include <utility>

#include "runtime/jinja/library/json.h"

namespace pc {
namespace {

using jinja::Value;

// Words that stand nowhere else in a template's text: of a content, of its parts, and of a field of
// a part that no template knows. Who writes the last writes the list as it is.
constexpr const char* kText = "zumbrakol";
constexpr const char* kFirst = "quorvexil";
constexpr const char* kSecond = "fenhadjit";
constexpr const char* kUnknown = "wapsilorn";

constexpr const char* kTools =
    R"([{"type": "function", "function": {"name": "f", "description": "d",
         "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}}])";

std::string part(const std::string& text, const std::string& more = "") {
  return R"({"type": "text", "text": ")" + text + "\"" + more + "}";
}

std::string parts() {
  const std::string unknown = std::string(R"(, ")") + kUnknown + R"(": ")" + kUnknown + "\"";
  return "[" + part(kFirst, unknown) + ", " + part(kSecond, unknown) + "]";
}

std::string text(bool in_parts) {
  return in_parts ? "[" + part(kText) + "]" : "\"" + std::string(kText) + "\"";
}

std::string message(const std::string& role, const std::string& content,
                    const std::string& more = "") {
  return R"({"role": ")" + role + R"(", "content": )" + content + more + "}";
}

// Conversations in which a message of this role has two parts.
std::vector<std::string> conversations(const std::string& role, bool only_parts) {
  const std::string user = message("user", text(only_parts)),
                    answer = message("assistant", text(only_parts)), own = message(role, parts());
  if (role == "user") return {own, own + "," + answer + "," + user};
  if (role == "assistant") return {user + "," + own + "," + user};
  if (role != "tool" && role != "function") return {own + "," + user};
  const std::string call = R"(, "tool_calls": [{"id": "abcdefghi", "type": "function", "function":
                               {"name": "f", "arguments": {"a": "b"}}}])",
                    result =
                        message(role, parts(), R"(, "name": "f", "tool_call_id": "abcdefghi")");
  return {user + "," + message("assistant", R"("")", call) + "," + result};
}

std::size_t times(const std::string& text, std::string_view word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++n;
  return n;
}

Result<std::string> render(const ChatProgram& program, const ChatClock& clock,
                           const std::string& messages, bool with_tools) {
  PC_TRY(const Value list, jinja::value_from_json("[" + messages + "]", "messages"));
  PC_TRY(const Value tools, jinja::value_from_json(kTools, "tools"));
  return program.render(list, with_tools ? tools : jinja::none(), {.clock = clock});
}

bool writes_both(const Result<std::string>& text) {
  return text.ok() && times(*text, kFirst) == 1 && times(*text, kSecond) == 1 &&
         text->find(kFirst) < text->find(kSecond) && times(*text, kUnknown) == 0;
}

bool writes_text(const ChatProgram& program, const ChatClock& clock, bool in_parts) {
  const auto written = render(program, clock, message("user", text(in_parts)), false);
  return written.ok() && times(*written, kText) == 1;
}

}  // namespace

Result<Value> parts_value(const std::vector<std::string>& texts) {
  std::vector<Value> list;
  for (const std::string& text : texts) {
    PC_TRY(Value plain, jinja::make_string(nullptr, text));
    PC_TRY(list.emplace_back(),
           jinja::make_dict(nullptr, {{jinja::word("type"), jinja::word("text")},
                                      {jinja::word("text"), std::move(plain)}}));
  }
  return jinja::make_list(nullptr, std::move(list));
}

ContentParts::ContentParts(const ChatProgram& program, const ChatClock& clock)
    : only_(!writes_text(program, clock, false) && writes_text(program, clock, true)) {
  for (const char* const role : {"system", "developer", "user", "assistant", "tool", "function"}) {
    const bool is_result = std::string_view(role) == "tool" || std::string_view(role) == "function";
    const auto all = conversations(role, only_);
    if (std::ranges::all_of(all, [&](const std::string& messages) {
          return writes_both(render(program, clock, messages, is_result));
        }))
      roles_.emplace_back(role);
  }
}

bool ContentParts::writes(std::string_view role) const {
  return std::ranges::find(roles_, role) != roles_.end();
}

}  // namespace pc
