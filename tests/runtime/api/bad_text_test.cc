// Bytes that are no UTF-8, handed to every call that takes a text: each refuses them in a sentence,
// and none steps over the end of what it was given.

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <promptcache/promptcache.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

namespace api = promptcache;

struct World {
  World() : path(checkpoint.path()), engine(options()), schema(api::Schema::plain(engine)) {}
  api::EngineOptions options() const {
    api::EngineOptions o;
    o.model_path = path.c_str();
    o.cache_dir = cache.path().c_str();
    o.chat_template = "zephyr";
    return o;
  }

  TinyCheckpoint checkpoint{3};
  TempFolder cache;
  std::string path;
  api::Engine engine;
  api::Schema schema;
};

// In front, amid and at the end: a byte that never stands, one that only follows, characters cut
// off, one in too many bytes, a surrogate, and one that is none.
std::vector<std::string> bad_texts() {
  std::vector<std::string> texts;
  for (const char* const bad : {"\xff", "\x80", "\xc3", "\xe6\x9d", "\xf0\x9f", "\xf3\xb0\x80",
                                "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"})
    for (const char* const before : {"", "a", "ö \xf3\xb0\x80\x80"})
      for (const char* const behind : {"", "a", " öö"})
        texts.push_back(std::string(before) + bad + behind);
  return texts;
}

pc_status write_chat(const World& w, const std::string& text, const std::string& fields,
                     pc_error* error) {
  const pc_chat_part part{text.data(), text.size(), 0};
  const pc_chat_message message{"user", PC_CONTENT_TEXT, &part, 1, fields.data(), fields.size()};
  pc_chat* chat = nullptr;
  const pc_status status = pc_chat_write(w.engine.get(), &message, 1, nullptr, &chat, error);
  pc_chat_close(chat);
  return status;
}

using Call = std::function<pc_status(const std::string& text, pc_error* error)>;

std::vector<std::pair<const char*, Call>> calls(const World& w) {
  pc_engine* const engine = w.engine.get();
  pc_schema* const schema = w.schema.get();
  const auto prompt = [](const auto& make) {
    pc_prompt* made = nullptr;
    const pc_status status = make(&made);
    pc_prompt_close(made);
    return status;
  };
  return {
      {"pc_tokenize_text",
       [=](const std::string& t, pc_error* e) {
         std::vector<std::int32_t> tokens(64);
         std::size_t n = 0;
         return pc_tokenize_text(engine, t.data(), t.size(), 0, tokens.data(), tokens.size(), &n,
                                 e);
       }},
      {"pc_schema_parse",
       [=](const std::string& t, pc_error* e) {
         const std::string pml = "<schema name='s'><module name='m'>" + t + "</module></schema>";
         pc_schema* made = nullptr;
         const pc_status s = pc_schema_parse(engine, pml.data(), pml.size(), nullptr, &made, e);
         pc_schema_close(made);
         return s;
       }},
      {"pc_prompt_parse",
       [=](const std::string& t, pc_error* e) {
         const std::string pml = "<prompt schema='plain'><user>" + t + "</user></prompt>";
         return prompt(
             [&](pc_prompt** p) { return pc_prompt_parse(schema, pml.data(), pml.size(), p, e); });
       }},
      {"pc_prompt_from_text",
       [=](const std::string& t, pc_error* e) {
         return prompt(
             [&](pc_prompt** p) { return pc_prompt_from_text(schema, t.data(), t.size(), p, e); });
       }},
      {"pc_prompt_from_raw_text",
       [=](const std::string& t, pc_error* e) {
         return prompt([&](pc_prompt** p) {
           return pc_prompt_from_raw_text(schema, t.data(), t.size(), PC_TEXT_CONTROLS, p, e);
         });
       }},
      {"pc_prompt_from_messages",
       [=](const std::string& t, pc_error* e) {
         const pc_message message{"user", t.data(), t.size(), nullptr, 0};
         return prompt(
             [&](pc_prompt** p) { return pc_prompt_from_messages(schema, &message, 1, p, e); });
       }},
      {"pc_chat_write",
       [&w](const std::string& t, pc_error* e) { return write_chat(w, t, "{}", e); }},
      {"pc_chat_write's fields",
       [&w](const std::string& t, pc_error* e) {
         return write_chat(w, "Hi", "{\"name\": \"" + t + "\"}", e);
       }},
      {"pc_chat_read",
       [=](const std::string& t, pc_error* e) {
         const std::string json =
             "{\"messages\": [{\"role\": \"user\", \"content\": \"" + t + "\"}]}";
         pc_chat* chat = nullptr;
         const pc_status s = pc_chat_read(engine, json.data(), json.size(), &chat, e);
         pc_chat_close(chat);
         return s;
       }},
      {"pc_session_append_text",
       [&w](const std::string& t, pc_error* e) {
         api::Session session(api::Prompt::from_text(w.schema, "Hi"));
         session.prefill();
         return pc_session_append_text(session.get(), t.data(), t.size(), e);
       }},
      {"pc_session_append",
       [&w](const std::string& t, pc_error* e) {
         api::Session session(
             api::Prompt(w.schema, "<prompt schema='plain'><user>Hi</user></prompt>"));
         session.prefill();
         const pc_message message{"user", t.data(), t.size(), nullptr, 0};
         return pc_session_append(session.get(), &message, 1, e);
       }},
      {"pc_constraint_from_regex",
       [=](const std::string& t, pc_error* e) {
         pc_constraint* made = nullptr;
         const pc_status s = pc_constraint_from_regex(engine, t.data(), t.size(), &made, e);
         pc_constraint_close(made);
         return s;
       }},
      {"pc_constraint_from_gbnf",
       [=](const std::string& t, pc_error* e) {
         const std::string grammar = "root ::= \"" + t + "\"";
         pc_constraint* made = nullptr;
         const pc_status s =
             pc_constraint_from_gbnf(engine, grammar.data(), grammar.size(), &made, e);
         pc_constraint_close(made);
         return s;
       }},
  };
}

TEST_CASE("bytes that are no text are refused by every call that takes one") {
  const World w;
  for (const auto& [name, call] : calls(w)) {
    for (const std::string& text : bad_texts()) {
      pc_error error{};
      const pc_status status = call(text, &error);
      INFO(name << " of " << text.size() << " bytes: " << error.message);
      CHECK(status != PC_OK);
      CHECK(status != PC_INTERNAL);
      CHECK(std::strlen(error.message) > 0);
    }
    pc_error error{};
    CHECK(call("ö", &error) == PC_OK);
    INFO(name << ": " << error.message);
  }
}

TEST_CASE("a conversation's text is refused by its place") {
  const World w;
  pc_error error{};
  CHECK(write_chat(w, "bad \xff utf8", "{}", &error) == PC_INVALID_ARGUMENT);
  CHECK(std::string(error.message) ==
        "the conversation's messages[0].content is not valid UTF-8 at byte 4");
}

}  // namespace
}  // namespace pc::test
