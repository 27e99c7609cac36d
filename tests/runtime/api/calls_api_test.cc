// Calls of tools through the C API: read out of answers, demanded, and written for a template.

#include <catch2/catch.hpp>
#include <cstddef>
#include <promptcache/promptcache.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/json/json_value.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_chat.h"

namespace pc::test {
namespace {

namespace api = promptcache;

constexpr const char* kTemplate =
    "{{ bos_token }}{% for t in tools or [] %}T: {{ t.function.name }}{{ eos_token }}{% endfor %}"
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls or [] %}<call>"
    "{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}</call>"
    "{% endfor %}{{ eos_token }}{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}";

const std::string kTools = R"([{"type": "function", "function": {"name": "weather", "parameters":
    {"type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}, "days": {"type": "integer",
     "minimum": 1, "maximum": 3}}, "required": ["city", "days"], "additionalProperties": false}}},
    {"type": "function", "function": {"name": "now"}}])";
const std::string kAsked = R"({"messages": [{"role": "user", "content": "Rain?"}], "tools": )";
const std::string kAnswer =
    "I look. <call>{\"name\": \"weather\", \"arguments\": {\"city\": "
    "\"Oslo\", \"days\": 2}}</call><call>{\"name\": \"now\", "
    "\"arguments\": {}}</call> Done.";

struct World {
  explicit World(const std::string& chat_template = kTemplate) {
    write_chat_template(checkpoint, chat_template);
  }
  api::Engine open() const {
    const std::string path = checkpoint.path();
    api::EngineOptions options;
    options.model_path = path.c_str();
    options.cache_mode = PC_CACHE_OFF;
    options.n_threads = 1;
    return api::Engine(options);
  }
  TinyCheckpoint checkpoint{3};
};

std::string answer(const api::Engine& engine, const api::Constraint& constraint,
                   std::uint64_t seed) {
  api::SessionOptions options;
  options.max_tokens = 200;
  options.temperature = 1.0f;
  options.seed = seed;
  options.constraint = constraint.get();
  options.spell_controls = 1;
  std::string text;
  api::Session(api::Prompt::from_chat(engine, kAsked + kTools + "}"), options)
      .generate([&](const pc_token& token) { text.append(token.text, token.text_bytes); });
  return text;
}

std::string sentence_of(const auto& call) {
  try {
    call();
  } catch (const api::Error& error) {
    return std::string(pc_status_name(error.status())) + ": " + error.what();
  }
  return "";
}

// "text", "(name", arguments and ")", in the order in which they came.
void add(const std::vector<pc_answer_piece>& pieces, std::string* told) {
  for (const pc_answer_piece& piece : pieces) {
    if (piece.kind == PC_ANSWER_CALL) *told += "(";
    told->append(piece.text, piece.bytes);
    if (piece.kind == PC_ANSWER_CALL_END) *told += ")";
  }
}

}  // namespace

TEST_CASE("calls are read out of an answer, as a whole and in pieces") {
  const World world;
  const api::Engine engine = world.open();
  const api::Tools tools(engine, kTools);
  const Json read = Json::read(tools.read(kAnswer));
  CHECK(read["content"] == Json("I look.Done."));
  REQUIRE(read["tool_calls"].items().size() == 2);
  CHECK(read["tool_calls"].items()[0] ==
        Json::read(
            R"({"name": "weather", "arguments": {"city": "Oslo", "days": 2}, "whole": true})"));
  for (const std::size_t size : {1, 3, 1000}) {
    api::CallReader reader(tools);
    std::string told;
    for (std::size_t at = 0; at < kAnswer.size(); at += size)
      add(reader.push(std::string_view(kAnswer).substr(at, size)), &told);
    add(reader.finish(), &told);
    CHECK(told == "I look.(weather{\"city\": \"Oslo\", \"days\": 2})(now{})Done.");
    CHECK_THROWS_WITH(reader.push("x"), Catch::Contains("another reader"));
  }
  const std::string json = R"({"name": "now", "arguments": {}})";
  CHECK(Json::read(tools.read(json))["tool_calls"].items().size() == 1);
  CHECK(Json::read(tools.read(json, PC_CALLS_AS_WRITTEN))["content"] == Json(json));
  api::CallReader cut(tools);
  std::string told;
  add(cut.push("<call>{\"name\": \"weather\", \"arguments\": {\"city"), &told);
  add(cut.finish(), &told);
  CHECK(told == "(weather{\"city");  // which has no end
}

TEST_CASE("an answer that must be a call is one that the tool takes") {
  const World world;
  const api::Engine engine = world.open();
  const api::Tools tools(engine, kTools);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Json read = Json::read(tools.read(
        answer(engine, api::Constraint::from_tools(tools, "weather"), seed), PC_CALLS_FORCED));
    CHECK(read["content"] == Json(""));
    REQUIRE(read["tool_calls"].items().size() == 1);
    const Json call = read["tool_calls"].items()[0];
    CHECK(call["name"] == Json("weather"));
    CHECK((call["arguments"]["city"] == Json("Oslo") || call["arguments"]["city"] == Json("Rome")));
    CHECK(call["arguments"]["days"].integer().value_or(0) > 0);
    const Json any =
        Json::read(tools.read(answer(engine, api::Constraint::from_tools(tools), seed)));
    CHECK(any["tool_calls"].items().size() == 1);
  }
  pc_constraint* made = nullptr;
  REQUIRE(pc_constraint_from_tools(tools.get(), "now", R"({"enum": [7]})", PC_NUL_TERMINATED, &made,
                                   nullptr) == PC_OK);
  pc_constraint_close(made);
}

TEST_CASE("what cannot be read, demanded or written is named") {
  const World world;
  const api::Engine engine = world.open();
  const api::Tools tools(engine, kTools);
  const auto read = [&](const char* json) {
    return sentence_of([&] { api::Tools(engine, json); });
  };
  CHECK_THAT(read("["), Catch::StartsWith("corrupt: tools: "));
  CHECK_THAT(read("{}"), Catch::Contains("must be a list"));
  CHECK_THAT(read(R"([{"function": {"name": "f"}}, {}])"),
             Catch::Contains("tools[1].function.name"));
  CHECK_THAT(sentence_of([&] { api::Constraint::from_tools(tools, "fog"); }),
             Catch::Contains("no tool called \"fog\""));
  CHECK_THAT(sentence_of([&] { api::Constraint::from_tools(api::Tools(engine, "[]")); }),
             Catch::Contains("no tools"));
  CHECK_THAT(sentence_of([&] { api::CallReader(tools, 64); }), Catch::Contains("flags"));
  const World plain(chat_turns());
  CHECK_THAT(sentence_of([&] { api::Tools(plain.open(), kTools); }),
             Catch::StartsWith("unsupported: this model's chat template"));
}

TEST_CASE("an answer with calls is written as the template wants it") {
  const World world;
  const api::Engine engine = world.open();
  const std::string message = R"({"role":"assistant","content":"","tool_calls":[{"id":"a","type":)"
                              R"("function","function":{"name":"now","arguments":"{\"a\":1}"}}]})";
  const Json called = Json::read(engine.called(message));
  CHECK(called["tool_calls"].items()[0]["function"]["arguments"] == Json::object().set("a", 1));
  const std::string user = R"({"role":"user","content":"q"})";
  CHECK(engine.called(user) == user);
  CHECK_THAT(sentence_of([&] { engine.called(R"({"tool_calls": [3]})"); }),
             Catch::Contains("tool_calls[0].function"));
}

}  // namespace pc::test
