#include "runtime/calls/reading/call_stream.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace pc::calls {
namespace {

CallShape hermes() {
  CallShape shape;
  shape.begin = "<tool_call>";
  shape.between = "</tool_call>\n<tool_call>";
  shape.end = "</tool_call>";
  shape.name_key = "name";
  shape.arguments_key = "arguments";
  return shape;
}

CallShape bare() {
  CallShape shape = hermes();
  shape.begin = shape.between = shape.end = "";
  shape.arguments_key = "parameters";
  return shape;
}

CallShape mistral() {
  CallShape shape;
  shape.kind = CallShape::Kind::kHeader;
  shape.begin = shape.between = "[TOOL_CALLS]";
  return shape;
}

CallShape parameters() {
  CallShape shape;
  shape.kind = CallShape::Kind::kParameters;
  shape.begin = "<tool_call>\n<function=";
  shape.after_name = ">";
  shape.key_open = "\n<parameter=";
  shape.key_close = ">\n";
  shape.value_close = "\n</parameter>";
  shape.end = "</function>\n</tool_call>";
  shape.between = shape.end + "\n" + shape.begin;
  return shape;
}

CallShape keyed() {
  CallShape shape;
  shape.kind = CallShape::Kind::kParameters;
  shape.begin = "<call>\n";
  shape.after_name = "\n";
  shape.key_open = "<key>";
  shape.key_close = "</key>\n";
  shape.value_close = "</value>\n";
  shape.end = "</call>";
  shape.between = shape.end + "\n" + shape.begin;
  return shape;
}

CallShape python() {
  CallShape shape;
  shape.kind = CallShape::Kind::kPython;
  shape.begin = "<|tool_call_start|>";
  shape.end = "<|tool_call_end|>";
  return shape;
}

Json schema(const char* type) {
  return Json::object().set("type", type);
}

ToolTypes types() {
  const Json properties = Json::object()
                              .set("place", schema("string"))
                              .set("days", schema("integer"))
                              .set("notes", schema("array"));
  const Json function =
      Json::object()
          .set("name", "weather")
          .set("parameters", Json::object().set("type", "object").set("properties", properties));
  return ToolTypes(
      Json::array().push(Json::object().set("type", "function").set("function", function)));
}

ToolCall call(const Json& arguments) {
  return {"weather", arguments};
}

const Json kOslo = Json::object().set("place", "Oslo");

TEST_CASE("calls are read in each shape") {
  const ToolTypes tools = types();
  const Json both = Json::object().set("place", "Oslo").set("days", 3);
  CHECK(read_answer(hermes(), tools,
                    "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"place\": \"Oslo\"}}\n"
                    "</tool_call>") == ReadAnswer{"", {call(kOslo)}});
  CHECK(read_answer(hermes(), tools,
                    "I look.<tool_call>{\"arguments\":{\"place\":\"Oslo\"},\"name\":\"weather\"}"
                    "</tool_call> <tool_call> {\"name\":\"weather\",\"arguments\":\"{}\"}"
                    "</tool_call>") == ReadAnswer{"I look.", {call(kOslo), call(Json::object())}});
  CHECK(read_answer(bare(), tools, " {\"name\":\"weather\",\"parameters\":{\"place\":\"Oslo\"}}") ==
        ReadAnswer{"", {call(kOslo)}});
  CHECK(read_answer(mistral(), tools,
                    "[TOOL_CALLS]weather[ARGS]{\"place\":\"Oslo\"}[TOOL_CALLS]weather[CALL_ID]"
                    "abc[ARGS]{}") == ReadAnswer{"", {call(kOslo), call(Json::object())}});
  CHECK(read_answer(parameters(), tools,
                    "<tool_call>\n<function=weather>\n<parameter=place>\nOslo\n</parameter>\n"
                    "<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>") ==
        ReadAnswer{"", {call(both)}});
  CHECK(read_answer(python(), tools,
                    "Well.<|tool_call_start|>[weather(place=\"Oslo\", days=3), weather( )]"
                    "<|tool_call_end|>") ==
        ReadAnswer{"Well.", {call(both), call(Json::object())}});
  CHECK(read_answer(python(), tools, "<|tool_call_start|>weather(place = 'Oslo', days = 3,)") ==
        ReadAnswer{"", {call(both)}});
  CallShape bare_python = python();
  bare_python.begin = bare_python.end = "";
  CHECK(read_answer(bare_python, tools, "[weather(place='Oslo', days=3)]") ==
        ReadAnswer{"", {call(both)}});
  for (const std::string text : {"[weather(place='Oslo')] is how", "[other(place='Oslo')]",
                                 "[1, 2]", "[weather(place='Oslo'"})
    CHECK(read_answer(bare_python, tools, text) == ReadAnswer{text, {}});
}

TEST_CASE("a value without quotes is what its tool wants") {
  const ToolTypes tools = types();
  CHECK(tools.value("weather", "place", "3") == Json("3"));
  CHECK(tools.value("weather", "days", "3") == Json(3));
  CHECK(tools.value("weather", "other", "[1]") == Json::array().push(1));
  CHECK(tools.value("weather", "other", "Oslo") == Json("Oslo"));
}

TEST_CASE("what only looks like a call stays text, all of it") {
  const ToolTypes tools = types();
  for (const std::string text :
       {"Use <tool_call> like this.", "<tool_call>{\"name\": 5}</tool_call>", "<tool_call>{",
        "<tool_call>{\"name\":\"weather\",\"arguments\":[]}</tool_call>", "<tool", "a < b", ""})
    CHECK(read_answer(hermes(), tools, text) == ReadAnswer{text, {}});
  for (const std::string text : {"{\"name\":\"other\",\"parameters\":{}}", "{\"a\":1}", "[1, 2]",
                                 "{ is a brace", "Say {\"name\":\"weather\",\"parameters\":{}}",
                                 "{\"name\":\"weather\",\"parameters\":{}} is how"})
    CHECK(read_answer(bare(), tools, text) == ReadAnswer{text, {}});
}

TEST_CASE("what ends a value may stand in JSON, and not in a text") {
  const std::string open = "<tool_call>\n<function=weather>\n<parameter=",
                    close = "\n</parameter>\n</function>\n</tool_call>";
  const auto reads = [&](const std::string& parameter) {
    return read_answer(parameters(), types(), open + parameter + close);
  };
  const Json notes = Json::array().push("a\n</parameter>\nb");
  CHECK(reads("notes>\n" + notes.dump()) ==
        ReadAnswer{"", {call(Json::object().set("notes", notes))}});
  CHECK(reads("any name>\n\"</parameter>\"") ==
        ReadAnswer{"", {call(Json::object().set("any name", "</parameter>"))}});
  CHECK(reads("other>\n\"a\" and \"b\"") ==
        ReadAnswer{"", {call(Json::object().set("other", "\"a\" and \"b\""))}});
  CHECK(reads("place>\n{\"a\": 1}") ==
        ReadAnswer{"", {call(Json::object().set("place", "{\"a\": 1}"))}});
  for (const char* const bad : {"place", "pla\nce>\nOslo", "<place>\nOslo", " >\nOslo"})
    CHECK(reads(bad).calls.empty());
}

std::string repeated(const std::string& text, int n) {
  std::string all;
  for (int i = 0; i < n; ++i) all += text;
  return all;
}

// A megabyte or more of each: were the text's rest read, or moved, for each of its pieces, the
// test's time would run out.
TEST_CASE("what only looks like calls does not hold up who reads an answer") {
  constexpr int kMany = 200'000;
  const ToolTypes tools = types();
  CallShape bare_python = python();
  bare_python.begin = bare_python.end = "";
  const std::string value = "\n<parameter=a>\n[\n</parameter>";
  const std::vector<std::pair<CallShape, std::string>> none = {
      {hermes(), repeated("<tool_call>{", kMany)},
      {hermes(), "a " + repeated("```\n{\n", kMany)},
      {hermes(), repeated("<tool_call>\n", kMany)},
      {hermes(), "```json\n{\"name\": \"weather" + repeated(" ", kMany) + "\"}"},
      {hermes(), "{\"" + repeated("name", kMany)},
      {mistral(), repeated("[TOOL_CALLS]weather", kMany)},
      {keyed(), repeated("<call>\nweather\n<key>x", kMany)},
      {python(), repeated("<|tool_call_start|>[weather(x", kMany)},
      {bare_python, "[" + repeated("weather(), ", kMany) + "no"}};
  for (const auto& [shape, text] : none) {
    INFO(text.substr(0, 40));
    CHECK((read_answer(shape, types(), text) == ReadAnswer{text, {}}));
    CallStream stream(shape, tools);
    std::vector<CallPiece> pieces;
    for (std::size_t at = 0; at < text.size(); at += 8)
      for (CallPiece& piece : stream.push(std::string_view(text).substr(at, 8)))
        pieces.push_back(std::move(piece));
    for (CallPiece& piece : stream.finish()) pieces.push_back(std::move(piece));
    CHECK((gather(pieces) == ReadAnswer{text, {}}));
  }
  CHECK(
      read_answer(parameters(), types(), "<tool_call>\n<function=weather>" + repeated(value, kMany))
          .calls.size() == 1);
  CHECK(read_answer(python(), types(),
                    "<|tool_call_start|>[" + repeated("weather(days=1), ", kMany / 4))
            .calls.size() == kMany / 4);
}

TEST_CASE("arguments that are cut off are read as far as they go, however many they are") {
  const auto reads = [](const std::string& text) { return object_of(text); };
  CHECK(reads("{\"a\": 1, \"b\": tru, \"c\": 2}") == Json::object().set("a", 1));
  CHECK(reads("{\"a\": [1, {\"b\": \"x") == Json::read(R"({"a": [1, {"b": "x"}]})"));
  CHECK(reads("{\"a\": {\"b\": nu") == Json::read(R"({"a": {}})"));
  CHECK(reads("x") == Json::object());
  CHECK(reads("{\"a\": 1, \"b\": x" + repeated(", 1", 200'000)) == Json::object().set("a", 1));
  CHECK(reads("{\"a\":" + repeated("[", 200'000)).has("a"));
}

// Of a value that is long, with a word in it that ends one.
TEST_CASE("a value that comes in many pieces is not read from its beginning with each") {
  const ToolTypes tools = types();
  const std::string list = "[\"</parameter>\"" + repeated(", \"a\"", 100'000) + "]";
  for (const auto& [shape, open, close] :
       {std::tuple(parameters(), "<tool_call>\n<function=weather>\n<parameter=notes>\n",
                   "\n</parameter>\n</function>\n</tool_call>"),
        std::tuple(python(), "<|tool_call_start|>[weather(notes=", ")]<|tool_call_end|>")}) {
    CallStream stream(shape, tools);
    std::vector<CallPiece> pieces;
    const std::string text = open + list + close;
    for (std::size_t at = 0; at < text.size(); at += 5)
      for (CallPiece& piece : stream.push(std::string_view(text).substr(at, 5)))
        pieces.push_back(std::move(piece));
    for (CallPiece& piece : stream.finish()) pieces.push_back(std::move(piece));
    CHECK(
        (gather(pieces) == ReadAnswer{"", {call(Json::object().set("notes", Json::read(list)))}}));
  }
}

TEST_CASE("of a name that comes twice the last value counts") {
  CHECK(read_answer(hermes(), types(),
                    "<tool_call>{\"name\":\"weather\",\"arguments\":{\"place\":\"Rome\","
                    "\"place\":\"Oslo\"}}</tool_call>") == ReadAnswer{"", {call(kOslo)}});
}

TEST_CASE(
    "calls of which each has the word that ends the last are read, with their first word or not") {
  CallShape shape = hermes();
  shape.between = shape.end;
  const std::string one = "{\"name\":\"weather\",\"arguments\":{}}</tool_call>";
  const ReadAnswer two{"", {call(Json::object()), call(Json::object())}};
  CHECK(read_answer(shape, types(), "<tool_call>" + one + one) == two);
  CHECK(read_answer(shape, types(), "<tool_call>" + one + " <tool_call>" + one) == two);
  CHECK(read_answer(shape, types(), "<tool_call>" + one + "Done.") ==
        ReadAnswer{"Done.", {call(Json::object())}});
}

TEST_CASE("a Python argument without a name is no call") {
  for (const std::string text :
       {"<|tool_call_start|>[weather(\"Oslo\", days=3)]", "<|tool_call_start|>[weather(, days=3)]"})
    CHECK(read_answer(python(), types(), text) == ReadAnswer{text, {}});
  // What was told already stays, and what cannot belong to it is text.
  CHECK(read_answer(python(), types(), "<|tool_call_start|>[weather(place='a',, days=3)]") ==
        ReadAnswer{", days=3)]", {call(Json::object().set("place", "a"))}});
}

TEST_CASE("white space before a call goes with it, and stays where there is none") {
  const std::string tool = "<tool_call>{\"name\":\"weather\",\"arguments\":{}}</tool_call>";
  CHECK(read_answer(hermes(), types(), "\n\n" + tool) == ReadAnswer{"", {call(Json::object())}});
  CHECK(read_answer(hermes(), types(), "I look.\n" + tool) ==
        ReadAnswer{"I look.", {call(Json::object())}});
  CHECK(read_answer(hermes(), types(), " a \n b \n ") == ReadAnswer{" a \n b \n ", {}});
  CHECK(read_answer(hermes(), types(), "a \n<tool_call>") == ReadAnswer{"a \n<tool_call>", {}});
}

TEST_CASE("text behind calls is not lost") {
  const ReadAnswer read = read_answer(
      hermes(), types(), "<tool_call>{\"name\":\"weather\",\"arguments\":{}}</tool_call>\nDone.");
  CHECK(read == ReadAnswer{"Done.", {call(Json::object())}});
}

// Answers of all shapes in pieces of any size.
TEST_CASE("however an answer comes in pieces, it is read alike") {
  std::mt19937 random(5);
  const ToolTypes tools = types();
  const std::string fence = "```";
  const std::vector<std::pair<CallShape, std::string>> answers = {
      {hermes(),
       "I <think> so. <tool_call>\n{\"name\": \"weather\", \"arguments\": {\"place\": "
       "\"<tool_call>\"}}\n</tool_call>"},
      {hermes(), "no <tool_cal l> here <<tool"},
      {hermes(), " \n Two \n\n lines \n <tool_call> {\"name\":\"weather\",\"arguments\":{}}"},
      {hermes(),
       "<tool_call>{\"id\": 7, \"name\": \"weather\", \"arguments\": {}, \"x\": {\"y\": "
       "\"}\"}}</tool_call>\n<tool_call>{\"arguments\": {}, \"name\": \"weather\"}"},
      {hermes(), "{\"name\": \"weather\", \"arguments\": {\"place\": \"Oslo\"}}"},
      {hermes(), "Look:\n" + fence + "json\n{\"name\": \"weather\", \"arguments\": {}}\n" + fence},
      {hermes(), fence + "c\nint a[] = {1};\n" + fence +
                     " is code. <tool_call>{\"name\": "
                     "\"weather\", \"arguments\": {}}</tool_call> Done."},
      {python(), "a <|tool <|tool_call_start|>[weather(place='<|tool_call_end|>', days=[1, 2])]"},
      {python(), "<|tool_call_start|>[weather(days=1), weather(place=\"b, c\")]<|tool_call_end|>."},
      {bare(), "  {\"name\":\"weather\",\"parameters\":{\"place\":\"}\\\"{\"}}"},
      {bare(), "[{\"name\":\"weather\",\"parameters\":{}}]"},
      {parameters(),
       "<tool_call>\n<function=weather>\n<parameter=place>\n Os<lo\n\n</parameter>\n"
       "<parameter=notes>\n[\"</parameter>\"]\n</parameter>\n</function>\n</tool_call>\n"
       "<tool_call>\n<function=weather>\n</function>\n</tool_call>"},
      {keyed(),
       "<call>\nweather\n<key>place</key>\nOslo</value>\n<key>days</key>\n3</value>\n</call>"},
      {mistral(), "Well [TOOL_[TOOL_CALLS]weather[ARGS]{\"place\":\"Oslo\"}"}};
  for (const auto& [shape, text] : answers) {
    const ReadAnswer whole = read_answer(shape, tools, text);
    INFO(text);
    for (int round = 0; round < 200; ++round) {
      CallStream stream(shape, tools);
      std::vector<CallPiece> pieces;
      const auto add = [&](std::vector<CallPiece> more) {
        pieces.insert(pieces.end(), more.begin(), more.end());
      };
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t n = 1 + random() % 7;
        add(stream.push(std::string_view(text).substr(at, n)));
        at += n;
      }
      add(stream.finish());
      REQUIRE(gather(pieces) == whole);
    }
  }
}

TEST_CASE("a call's name and arguments are told as they arise") {
  using Kind = CallPiece::Kind;
  const CallShape shape = hermes(), named = parameters();
  const ToolTypes tools = types();
  CallStream stream(shape, tools);
  CHECK(stream.push("<tool_call>{\"name\": \"weather\", \"arguments\": ").empty());
  CHECK(stream.push("{\"place\": \"Os") ==
        std::vector<CallPiece>{{Kind::kName, "weather"}, {Kind::kArguments, "{\"place\": \"Os"}});
  CHECK(stream.is_within_call());
  CHECK(stream.push("lo\"}") == std::vector<CallPiece>{{Kind::kArguments, "lo\"}"}});
  CHECK(stream.push("}") == std::vector<CallPiece>{{Kind::kEnd, ""}});
  CHECK_FALSE(stream.is_within_call());
  CHECK(stream.push("</tool_call>").empty());
  CHECK(stream.finish().empty());

  CallStream values(named, tools);
  CHECK(values.push("<tool_call>\n<function=weather>\n<parameter=place>\n").size() == 2);
  const auto pieces = values.push("A long name of a town in the hills");
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].text.starts_with("A long name of a"));
}

TEST_CASE("a call that is cut off keeps what was told of it") {
  CHECK(read_answer(hermes(), types(),
                    "<tool_call>{\"name\": \"weather\", \"arguments\": {\"place\": \"Os") ==
        ReadAnswer{"", {{"weather", Json::object().set("place", "Os"), false}}});
}

TEST_CASE("an answer that is a call without the template's words is one") {
  const std::string object = "{\"name\": \"weather\", \"arguments\": {\"place\": \"Oslo\"}}";
  const ReadAnswer one{"", {call(kOslo)}};
  for (const std::string& text : {object, "\n" + object + "\n", "```json\n" + object + "\n```",
                                  "```\n" + object, "[" + object + "]",
                                  std::string("{\"name\": \"weather\", \"parameters\": {\"place\": "
                                              "\"Oslo\"}}"),
                                  "{\"type\": \"function\", \"function\": " + object + "}"})
    CHECK(read_answer(hermes(), types(), text) == one);
  CHECK(read_answer(hermes(), types(), "I look it up.\n```json\n" + object + "\n```\n") ==
        ReadAnswer{"I look it up.", {call(kOslo)}});
  CHECK(read_answer(hermes(), types(), object + "\n" + object).calls.size() == 2);
}

TEST_CASE("JSON that is no call of an offered tool is text, and comes as it arises") {
  const ToolTypes tools = types();
  for (const std::string text :
       {"{\"name\": \"other\", \"arguments\": {}}", "{\"title\": \"weather\"}",
        "{\"name\": \"weather\"}", "{\"name\": \"weather\", \"arguments\": 3}",
        "```json\n{\"name\": \"weather\", \"arguments\": {}}\n```\nis how it is written.",
        "```json\n{\"name\": \"other\", \"arguments\": {}}\n```", "[1, 2]", "```c\nint a;"})
    CHECK(read_answer(hermes(), tools, text) == ReadAnswer{text, {}});
  const CallShape shape = hermes();
  CallStream stream(shape, tools);
  CHECK(stream.push("{\"title\": \"A") ==
        std::vector<CallPiece>{{CallPiece::Kind::kText, "{\"title\": \"A"}});
}

TEST_CASE("where an answer must be a call, one without words to begin with is told early") {
  const CallShape shape = bare();
  const ToolTypes tools = types();
  CallStream stream(shape, tools, {.must_call = true});
  CHECK(stream.push("{\"name\":\"weather\",\"parameters\":{\"pl").size() == 2);
}

TEST_CASE("where the answer's form is given, JSON and fences are text at once") {
  const CallShape shape = hermes();
  const ToolTypes tools = types();
  const std::string json = "{\"type\": \"a\", \"name\": \"weather\", \"arguments\": {}}";
  for (const std::string& text : {json, "```json\n" + json}) {
    CallStream stream(shape, tools, {.takes_loose_calls = false});
    CHECK(stream.push(text) == std::vector<CallPiece>{{CallPiece::Kind::kText, text}});
    CHECK(stream.finish().empty());
  }
}

}  // namespace
}  // namespace pc::calls
