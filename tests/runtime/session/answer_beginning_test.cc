// What stands in front of an answer's first word: nothing where the answer is a text of its own,
// and the space that the model drew where it goes on with a text, which would run into it
// otherwise.

#include <catch2/catch.hpp>
#include <string>

#include "runtime/prompt/written_chat.h"
#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_chat.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

using PromptResult = Result<std::shared_ptr<const LoadedPrompt>>;

// Every answer is " Oslo costs", by a tokenizer that puts a space in front of every text.
class World {
 public:
  explicit World(const std::string& format = "") {
    write_chat_template(checkpoint_, chat_turns());
    EngineOptions o;
    o.model_path = checkpoint_.path();
    o.cache_dir = cache_.path();
    o.kv_type = KvType::kF32;
    o.chat_template = format;
    engine = must(Engine::open(o));
    schema = must(LoadedSchema::parse(
        engine, "<schema name='s'><module name='doc'>The tram of Oslo.</module></schema>", ""));
    said = must(engine->tokenizer().encode("Oslo costs"));
    REQUIRE(engine->tokenizer().bytes(said.front()).starts_with(' '));
  }

  std::unique_ptr<Session> open(PromptResult prompt, std::vector<std::string> stop = {}) const {
    SessionOptions o;
    o.mask = only(said);
    o.stop = std::move(stop);
    o.max_tokens = static_cast<std::uint32_t>(said.size());
    return must(Session::open(must(std::move(prompt)), o));
  }

  static std::string answer(Session& session) {
    std::string text;
    for (bool more = true; more; text += session.text()) more = must(session.next()).has_value();
    return text;
  }
  std::string answer(PromptResult prompt) const { return answer(*open(std::move(prompt))); }

  PromptResult pml(const std::string& content) const {
    return LoadedPrompt::parse(schema, "<prompt schema='s'>" + content + "</prompt>");
  }
  PromptResult chat(const std::string& rest) const {
    const std::string user = R"({"role": "user", "content": "What costs much?"})";
    const auto request = must(read_chat(R"({"messages": [)" + user + rest));
    return must(WrittenChat::write(engine, request, {}))->prompt(ChatModules::kNone);
  }
  std::string read_back(const Tokens& tokens) const {
    std::string text;
    for (const TokenId token : tokens) engine->tokenizer().append_bytes(token, &text);
    return text;
  }

  TinyCheckpoint checkpoint_{5};
  TempFolder cache_;
  std::shared_ptr<const Engine> engine;
  std::shared_ptr<LoadedSchema> schema;
  Tokens said;
};

const std::string kOwnText = "Oslo costs", kAmidText = " Oslo costs";

TEST_CASE("an answer that begins a turn begins with its word") {
  const World w;
  CHECK(w.answer(w.pml("<user>What costs much?</user>")) == kOwnText);
  CHECK(w.answer(w.pml("<doc/><user>What costs much?</user>")) == kOwnText);
  const std::vector<pml::Message> messages = {{pml::Role::kUser, {{"What?", {}, {}}}}};
  CHECK(w.answer(LoadedPrompt::of_messages(w.schema, messages)) == kOwnText);
  CHECK(w.answer(w.chat("]}")) == kOwnText);
}

// Oracle: the tokens of prompt and answer together, as the tokenizer spells them.
TEST_CASE("an answer that goes on with a text has the space between them") {
  const World w;
  const std::string text = "Of all trams, that of";
  Tokens tokens = must(w.engine->tokenizer().encode(text));
  CHECK(w.answer(LoadedPrompt::of_text(w.schema, text)) == kAmidText);
  CHECK(w.answer(LoadedPrompt::of_raw_text(w.schema, text, {})) == kAmidText);
  CHECK(w.answer(LoadedPrompt::of_tokens(w.schema, tokens)) == kAmidText);
  CHECK(w.answer(w.pml(text)) == kAmidText);
  CHECK(w.answer(w.pml("<doc/> That of")) == kAmidText);
  CHECK(w.answer(w.pml("<user>What?</user> That of")) == kAmidText);
  tokens.insert(tokens.end(), w.said.begin(), w.said.end());
  CHECK(w.read_back(tokens) == " " + text + kAmidText);
}

TEST_CASE("an answer that somebody began goes on with that") {
  const World w;
  const std::string begun = R"(, {"role": "assistant", "content": "That of"}])";
  CHECK(w.answer(w.chat(begun + R"(, "continue_final_message": true})")) == kAmidText);
  CHECK(w.answer(w.chat(R"(], "add_generation_prompt": false})")) == kOwnText);
}

// Zephyr's format writes the same for an answer that is opened and for one that is begun with
// nothing.
TEST_CASE("an answer behind nothing is a text of its own") {
  const World w("zephyr");
  const std::string begun = R"(, {"role": "assistant", "content": ""}])";
  CHECK(w.answer(w.chat(begun + R"(, "continue_final_message": true})")) == kOwnText);
  CHECK(w.answer(LoadedPrompt::of_raw_text(w.schema, "", {.bos = true})) == kOwnText);
  CHECK(w.answer(LoadedPrompt::of_tokens(w.schema, Tokens{w.engine->tokenizer().bos().value()})) ==
        kOwnText);
}

TEST_CASE("further answers begin as what they stand behind says") {
  const World w;
  const auto turns = w.open(w.pml("<user>What costs much?</user>"));
  CHECK(w.answer(*turns) == kOwnText);
  must(turns->append(std::vector<pml::ChatTurn>{{pml::Role::kUser, "And else?"}}));
  CHECK(w.answer(*turns->fork().value()) == kOwnText);
  CHECK(w.answer(*turns) == kOwnText);
  must(turns->append_text(" And that of"));
  CHECK(w.answer(*turns) == kAmidText);
  must(turns->append_tokens(w.said));
  CHECK(w.answer(*turns->fork().value()) == kAmidText);
  CHECK(w.answer(*turns) == kAmidText);
}

TEST_CASE("an answer that is gone back to begins as it did") {
  const World w;
  const auto session = w.open(w.pml("<user>What costs much?</user>"));
  must(session->prefill());
  const Position first = session->position();
  CHECK(w.answer(*session) == kOwnText);
  must(session->append_text(" And that of"));
  const Position second = session->position();
  CHECK(w.answer(*session) == kAmidText);
  must(session->rewind(second));
  CHECK(w.answer(*session) == kAmidText);
  must(session->rewind(first));
  CHECK(w.answer(*session) == kOwnText);
}

TEST_CASE("an answer drawn otherwise begins where it stands, and stop strings see what is said") {
  const World w;
  for (const auto& [prompt, expected] :
       {std::pair{w.pml("<user>What?</user>"), std::string()}, {w.pml("That of"), " "}}) {
    const auto session = w.open(prompt);
    SessionOptions o;
    o.mask = only(w.said);
    o.stop = {"Oslo"};
    o.max_tokens = static_cast<std::uint32_t>(w.said.size());
    must(session->set_answer(o));
    CHECK(w.answer(*session) == expected);
    CHECK(session->stats().finish == Finish::kStop);
  }
  CHECK(w.answer(*w.open(w.pml("That of"), {" Oslo"})).empty());
}

}  // namespace
}  // namespace pc::test
