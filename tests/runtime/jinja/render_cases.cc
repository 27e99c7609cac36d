// Renders templates for the tests in Python, which compare with jinja2: reads
//
//   [{"template": "...", "bos": "<s>", "eos": "</s>", "time": 1700000000,
//     "messages": [...], "tools": [...], "add_generation_prompt": true,
//     "variables": {...}}, ...]
//
// from standard input, and writes for each case a line of JSON: {"text": "..."} or
// {"error": "...", "code": "..."}. Members that are absent are null.
#include <iostream>
#include <iterator>
#include <string>

#include "runtime/chat/program/chat_program.h"
#include "runtime/jinja/library/json.h"
#include "runtime/json/json_writer.h"

using pc::jinja::Kind;
using pc::jinja::Value;

namespace {

Value member(const Value& object, std::string_view name) {
  const Value* found = object.dict().find(name);
  return found ? *found : pc::jinja::none();
}

std::string text_of(const Value& value) {
  return value.is(Kind::kString) ? value.text() : "";
}

pc::Result<std::string> render(const Value& one) {
  pc::ChatTokens tokens{text_of(member(one, "bos")), text_of(member(one, "eos")), {}};
  PC_TRY(const pc::ChatProgram program,
         pc::ChatProgram::parse(text_of(member(one, "template")), std::move(tokens)));
  pc::ChatOptions options;
  options.add_generation_prompt = member(one, "add_generation_prompt").integer != 0;
  options.clock = pc::ChatClock::at(member(one, "time").integer);
  if (const Value variables = member(one, "variables"); variables.is(Kind::kDict))
    for (const auto& [name, value] : variables.dict().entries)
      options.variables.emplace(name.text(), value);
  return program.render(member(one, "messages"), member(one, "tools"), options);
}

}  // namespace

int main() {
  const std::string input(std::istreambuf_iterator<char>(std::cin), {});
  const auto cases = pc::jinja::value_from_json(input, "cases");
  if (!cases.ok()) {
    std::cerr << cases.error().message << "\n";
    return 1;
  }
  for (const Value& one : cases->items()) {
    const auto text = render(one);
    std::string line;
    pc::JsonWriter json(&line);
    json.begin_object();
    if (text.ok())
      json.key("text").value(*text);
    else
      json.key("error")
          .value(text.error().message)
          .key("code")
          .value(pc::code_name(text.error().code));
    json.end_object();
    std::cout << line << "\n";
  }
  return 0;
}
