// Readers of what clients ask about PML: uploads, prompts, and chats that import modules.
#include "tools/serve/routes/pml_requests.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "tools/serve/request/fields.h"

namespace pc::serve {
namespace {

ModelFacts model() {
  ModelFacts facts{"m", {}};
  facts.engine.vocab_size = 100;
  return facts;
}

// The parameter that a refusal names.
std::string refused(const std::function<void()>& read) {
  try {
    read();
  } catch (const ApiError& error) {
    CHECK(error.status() == 400);
    return error.openai()["error"]["param"].string();
  }
  return "nothing";
}

OpenAiRequest chat(const std::string& body) {
  return read_openai_chat(read_body(body), model());
}

TEST_CASE("an upload is encoded at once unless it says otherwise") {
  const SchemaUpload plain = read_schema_upload(read_body(R"({"schema": "<schema/>", "new": 1})"));
  CHECK(plain.pml == "<schema/>");
  CHECK(plain.encodes);
  CHECK_FALSE(plain.streams);
  CHECK(plain.ignored == std::vector<std::string>{"new"});
  const SchemaUpload asked =
      read_schema_upload(read_body(R"({"schema": "x", "encode": false, "stream": true})"));
  CHECK_FALSE(asked.encodes);
  CHECK(asked.streams);
}

TEST_CASE("a prompt of PML is asked with the fields of a chat") {
  const OpenAiRequest request = read_pml_run(
      read_body(R"({"prompt": "<prompt schema=\"s\">x</prompt>", "max_tokens": 3, "stream": true,
                    "stream_options": {"include_usage": true}, "repair": "leading:2", "q": 1})"),
      model());
  CHECK(request.question.of_schema->schema == "s");
  CHECK(request.question.of_schema->pml == "<prompt schema=\"s\">x</prompt>");
  CHECK(request.question.sampling.max_tokens == 3u);
  CHECK(request.question.repair == "leading:2");
  CHECK(request.streams);
  CHECK(request.includes_usage);
  CHECK(request.question.ignored == std::vector<std::string>{"q"});
  CHECK(std::string(request.question.prompt_field()) == "prompt");
}

TEST_CASE("a chat that names a schema imports its modules") {
  const OpenAiRequest request = chat(
      R"({"schema": "travel", "messages": [{"role": "system", "content": "Be brief."},
          {"role": "user", "content": [{"type": "module", "module": "europe/paris",
           "arguments": {"duration": "3 days"}}, {"type": "text", "text": "Where to?"}]}]})");
  const SchemaPrompt& prompt = *request.question.of_schema;
  CHECK(prompt.schema == "travel");
  CHECK(prompt.pml.empty());
  REQUIRE(prompt.turns.size() == 2);
  CHECK(prompt.turns[0].content == "Be brief.");
  REQUIRE(prompt.turns[1].parts.size() == 2);
  const promptcache::Part& module = prompt.turns[1].parts[0];
  CHECK(module.module == "europe/paris");
  REQUIRE(module.arguments.size() == 1);
  CHECK(module.arguments[0].name == "duration");
  CHECK(module.arguments[0].value == "3 days");
  CHECK(prompt.turns[1].parts[1].text == "Where to?");
  CHECK(request.question.chat.is_null());
  CHECK(std::string(request.question.prompt_field()) == "messages");
  CHECK_FALSE(chat(R"({"messages": [{"role": "user", "content": "x"}]})").question.of_schema);
}

TEST_CASE("what a schema's chat cannot have is named") {
  const auto with = [](const std::string& messages, const std::string& more = "") {
    return [=] { chat(R"({"schema": "s", "messages": [)" + messages + "]" + more + "}"); };
  };
  const auto part = [&](const std::string& json) {
    return with(R"({"role": "user", "content": [)" + json + "]}");
  };
  const std::string hi = R"({"role": "user", "content": "Hi"})";
  CHECK(refused(with(hi)) == "nothing");
  CHECK(refused(with("")) == "messages");
  CHECK(refused(with("5")) == "messages[0]");
  CHECK(refused(with(hi, R"(, "tools": [])")) == "tools");
  CHECK(refused(with(hi, R"(, "chat_template_kwargs": {})")) == "chat_template_kwargs");
  CHECK(refused(with(hi, R"(, "repair": 5)")) == "repair");
  CHECK(refused(with(R"({"role": "tool", "content": "x"})")) == "messages[0].role");
  CHECK(refused(with(R"({"role": "user"})")) == "messages[0].content");
  CHECK(refused(with(R"({"role": "assistant", "content": "x", "tool_calls": []})")) ==
        "messages[0].tool_calls");
  CHECK(refused(part("5")) == "messages[0].content[0]");
  CHECK(refused(part(R"({"type": "image_url"})")) == "messages[0].content[0].type");
  CHECK(refused(part(R"({"type": "module"})")) == "messages[0].content[0].module");
  CHECK(refused(part(R"({"type": "module", "module": ""})")) == "messages[0].content[0].module");
  CHECK(refused(part(R"({"type": "module", "module": "a", "arguments": []})")) ==
        "messages[0].content[0].arguments");
  CHECK(refused(part(R"({"type": "module", "module": "a", "arguments": {"x": 5}})")) ==
        "messages[0].content[0].arguments.x");
  CHECK(refused([] { chat(R"({"schema": "", "messages": []})"); }) == "schema");
}

}  // namespace
}  // namespace pc::serve
