// How models write calls of tools, learned from their templates: round trips over published ones.

#include "runtime/calls/writing/call_learning.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/calls/reading/call_stream.h"
#include "runtime/calls/shape/call_cursor.h"
#include "runtime/calls/writing/call_grammar.h"
#include "runtime/calls/writing/told_calls.h"
#include "runtime/chat/program/chat_program.h"
#include "runtime/constrain/automata/state.h"
#include "runtime/jinja/library/json.h"

namespace pc::calls {
namespace {

// The published templates, or null where they are not at hand.
Json published() {
  const char* const shared = std::getenv("PC_SHARED_DIR");
  if (!shared) return Json();
  std::ifstream file(std::string(shared) + "/assets/chat_templates/templates.json");
  return Json::read(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::optional<std::string> rendered(const ChatProgram& program, const Json& conversation,
                                    bool asks) {
  const auto messages = jinja::value_from_json(conversation["messages"].dump(), "messages");
  const auto tools = jinja::value_from_json(conversation["tools"].dump(), "tools");
  REQUIRE(messages.ok());
  REQUIRE(tools.ok());
  ChatOptions options;
  options.add_generation_prompt = asks;
  const auto text = program.render(*messages, *tools, options);
  return text.ok() ? std::optional(*text) : std::nullopt;
}

std::optional<CallShape> learned(const ChatProgram& program) {
  return learn_call_shape(
      [&](const Json& conversation) { return rendered(program, conversation, false); });
}

// Calls that no shape was learned from.
const std::vector<ToolCall>& made() {
  static const std::vector<ToolCall> calls = {
      {"get_weather", Json::read(R"({"city": "Oslo \"north\" é", "days": 3})")},
      {"set_lights", Json::read(R"({"room": "a < b & c", "rgb": [1, 2, 3], "on": true})")}};
  return calls;
}

const char* type_of(const Json& value) {
  if (value.is_string()) return "string";
  if (value.is_boolean()) return "boolean";
  return value.is_array() ? "array" : "number";
}

Json tools() {
  Json list = Json::array();
  for (const ToolCall& call : made()) {
    Json properties = Json::object();
    for (const std::string& key : call.arguments.keys())
      properties.set(key, Json::object().set("type", type_of(call.arguments[key])));
    list.push(
        Json::object()
            .set("type", "function")
            .set("function",
                 Json::object()
                     .set("name", call.name)
                     .set("description", "d")
                     .set("parameters",
                          Json::object().set("type", "object").set("properties", properties))));
  }
  return list;
}

// A question, and an answer of the first n calls.
Json conversation(const CallShape& shape, std::size_t n) {
  Json messages = Json::array().push(Json::object().set("role", "user").set("content", "q"));
  Json calls = Json::array();
  for (std::size_t i = 0; i < n; ++i) {
    const Json arguments = made()[i].arguments;
    calls.push(Json::object()
                   .set("id", "abcdefgh" + std::to_string(i))
                   .set("type", "function")
                   .set("function", Json::object()
                                        .set("name", made()[i].name)
                                        .set("arguments", shape.wants_text ? Json(arguments.dump())
                                                                           : arguments)));
  }
  if (n > 0)
    messages.push(Json::object()
                      .set("role", "assistant")
                      .set("content", shape.wants_null ? Json() : Json(""))
                      .set("tool_calls", calls));
  return Json::object().set("messages", messages).set("tools", tools());
}

// What stands behind an answer's text.
std::string closing(const ChatProgram& program, const CallShape& shape) {
  constexpr std::string_view kText = "pqtext";
  Json plain = conversation(shape, 0), messages = Json::array();
  for (const Json& message : plain["messages"].items()) messages.push(message);
  messages.push(Json::object().set("role", "assistant").set("content", kText));
  const auto text = rendered(program, plain.set("messages", messages), false);
  const std::size_t at = text ? text->rfind(kText) : std::string::npos;
  return at == std::string::npos ? "" : text->substr(at + kText.size());
}

// Does it read, of an answer with other calls, these calls again?
bool reads(const ChatProgram& program, const CallShape& shape, std::size_t n) {
  const auto asked = rendered(program, conversation(shape, 0), true);
  const auto answered = rendered(program, conversation(shape, n), false);
  if (!asked || !answered) return false;
  const auto differ = std::ranges::mismatch(*asked, *answered).in2 - answered->begin();
  // From there on, or from the beginning of the word that begins alike; without what closes a turn.
  std::string rest = answered->substr(static_cast<std::size_t>(differ));
  const std::string close = closing(program, shape);
  if (!close.empty() && rest.ends_with(close)) rest.resize(rest.size() - close.size());
  for (std::size_t back = 0; back <= std::min<std::size_t>(static_cast<std::size_t>(differ), 64);
       ++back) {
    const std::string answer =
        answered->substr(static_cast<std::size_t>(differ) - back, rest.size() + back);
    const ReadAnswer read = read_answer(shape, ToolTypes(tools()), answer);
    if (read.calls == std::vector<ToolCall>(made().begin(), made().begin() + n)) return true;
  }
  return false;
}

// Does a grammar of it take, somewhere in an answer with this call, what the template writes?
bool is_held_to(const ChatProgram& program, const CallShape& shape) {
  const auto answered = rendered(program, conversation(shape, 1), false);
  if (!answered) return false;
  const auto automaton =
      call_grammar(shape, tools().items().front()["function"], 0).compiled().value().automaton;
  for (std::size_t begin = 0; begin < answered->size(); ++begin) {
    constrain::State state = constrain::start_of(automaton);
    for (std::size_t at = begin; at < answered->size() && !state.is_dead(); ++at) {
      state = constrain::behind_byte(automaton, state, static_cast<std::uint8_t>((*answered)[at]));
      if (state.may_end) return true;
    }
  }
  return false;
}

// Are calls that stand in an answer's text, as templates are given them, written and read again?
bool is_told_and_read(const ChatProgram& program, const CallShape& shape) {
  const Json chat = conversation(shape, made().size());
  Json messages = Json::array();
  std::string text;
  for (const Json& message : chat["messages"].items()) {
    if (message["tool_calls"].is_null()) {
      messages.push(message);
      continue;
    }
    for (const Json& part : with_told_calls(message, shape)["content"].items())
      text += part["text"].string();
    messages.push(Json::object().set("role", "assistant").set("content", text));
  }
  const auto written = rendered(program, Json(chat).set("messages", messages), false);
  return written && written->find(text) != std::string::npos &&
         read_answer(shape, ToolTypes(tools()), text).calls == made();
}

}  // namespace

TEST_CASE("calls of published templates are learned, and other calls are read") {
  const Json templates = published();
  if (templates.is_null()) {
    WARN("skipped: PC_SHARED_DIR has no published templates");
    return;
  }
  int n_learned = 0, n_read = 0, n_pairs = 0, n_held = 0;
  for (const Json& entry : templates.items()) {
    INFO(entry["name"].string());
    const auto program = ChatProgram::parse(entry["template"].string(),
                                            {entry["bos"].string(), entry["eos"].string(), {}});
    if (!program.ok()) continue;
    const auto shape = learned(*program);
    if (!shape || shape->is_told) continue;
    ++n_learned;
    const bool is_read = reads(*program, *shape, 1);
    n_read += is_read;
    n_pairs += reads(*program, *shape, 2);
    n_held += is_held_to(*program, *shape);
    CHECK(shape->begin.find("None") == std::string::npos);  // a text that is not there
    if (shape->kind == CallShape::Kind::kParameters) CHECK(is_held_to(*program, *shape));
  }
  CHECK(n_learned >= 47);
  CHECK(n_read == n_learned);
  CHECK(n_pairs >= 36);  // some write one call alone
  CHECK(n_held >= 40);   // the others write more than a name and arguments, or more white space
}

// Templates that write calls, too, are the judges of what is understood of what they say of them.
TEST_CASE("what published templates say of calls is what they write") {
  const Json templates = published();
  if (templates.is_null()) {
    WARN("skipped: PC_SHARED_DIR has no published templates");
    return;
  }
  int n_same = 0, n_told = 0;
  for (const Json& entry : templates.items()) {
    INFO(entry["name"].string());
    const auto program = ChatProgram::parse(entry["template"].string(),
                                            {entry["bos"].string(), entry["eos"].string(), {}});
    const auto shape = program.ok() ? learned(*program) : std::nullopt;
    if (!shape) continue;
    if (shape->is_told) {
      ++n_told;
      CHECK(is_told_and_read(*program, *shape));
      continue;
    }
    const auto prompt = rendered(*program, conversation(*shape, 0), true);
    const auto told = prompt ? told_call_shape(*prompt) : std::nullopt;
    if (!told) continue;
    ++n_same;
    CHECK((told->kind == shape->kind && told->begin == shape->begin && told->end == shape->end));
    CHECK((told->name_key == shape->name_key && told->arguments_key == shape->arguments_key));
    CHECK(trimmed(told->written_begin) == trimmed(shape->written_begin));
    CHECK(trimmed(told->written_end) == trimmed(shape->written_end));
  }
  CHECK(n_same >= 10);
  CHECK(n_told >= 5);  // SmolLM3 and Granite 3
}

// As gpt-oss writes a call: one a message, its recipient in front of the channel, and what it gave
// back as JSON.
TEST_CASE("a call that is a message to a recipient is a header and an object") {
  const auto program = ChatProgram::parse(
      "{% for m in messages %}{% if m.role == 'assistant' and m.tool_calls %}"
      "<|start|>assistant to=functions.{{ m.tool_calls[0].function.name }}<|channel|>commentary "
      "json"
      "<|message|>{{ m.tool_calls[0].function.arguments | tojson }}<|call|>"
      "{% elif m.role == 'assistant' %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}"
      "<|end|>{% elif m.role == 'tool' %}<|start|>functions.f to=assistant<|channel|>commentary"
      "<|message|>{{ m.content | tojson }}<|end|>{% else %}<|start|>{{ m.role }}<|message|>"
      "{{ m.content }}<|end|>{% endif %}{% endfor %}"
      "{% if add_generation_prompt %}<|start|>assistant{% endif %}",
      {"", "", {}});
  REQUIRE(program.ok());
  const auto shape = learned(*program);
  REQUIRE(shape);
  CHECK(shape->kind == CallShape::Kind::kHeader);
  CHECK(shape->written_begin == " to=functions.");
  CHECK(shape->written_middle == "<|channel|>commentary json<|message|>");
  CHECK(shape->written_end == "<|call|>");
}

}  // namespace pc::calls
