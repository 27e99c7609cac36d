// The day that a template asks for: a conversation's is that on which it is written, a schema's
// that on which it was loaded, for its prompts and their conversations as well.
#include <catch2/catch.hpp>

#include "runtime/prompt/written_chat.h"
#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/tiny_chat.h"

namespace pc::test {
namespace {

constexpr const char* kSchema =
    "<schema name='s'><user>city</user><module name='doc'>The tram of Oslo.</module></schema>";

class Days {
 public:
  Days() {
    write_chat_template(checkpoint_, "{{ strftime_now('%d') }}" + chat_turns());
    EngineOptions options;
    options.model_path = checkpoint_.path();
    options.cache_mode = CacheMode::kOff;
    options.n_threads = 1;
    options.chat_clock = ChatClock([this] { return ChatClock::at(time).now(); });
    engine = must(Engine::open(options));
  }

  std::string written() const {
    const ChatRequest chat =
        must(read_chat(R"({"messages": [{"role": "user", "content": "Who?"}]})"));
    return must(WrittenChat::write(engine, chat, {}))->text();
  }
  std::shared_ptr<LoadedSchema> load() const {
    return must(LoadedSchema::parse(engine, kSchema, ""));
  }
  std::string flat(const std::shared_ptr<LoadedSchema>& schema, const std::string& body) const {
    const auto prompt =
        must(LoadedPrompt::parse(schema, "<prompt schema='s'>" + body + "</prompt>"));
    std::string text;
    for (const pml::PlanRun& run : prompt->plan.runs)
      for (const TokenId token : run.tokens) engine->tokenizer().append_bytes(token, &text);
    return text;
  }

  std::time_t time = 1721990645;  // on the 26th
  std::shared_ptr<const Engine> engine;

 private:
  TinyCheckpoint checkpoint_{5};
};

TEST_CASE("an open engine's conversations are of the day on which they are written") {
  Days days;
  const std::string first = days.written();
  CHECK(first.starts_with("26"));
  days.time += 3600;
  CHECK(days.written().starts_with("26"));
  days.time += 86400;
  CHECK(days.written() == "27" + first.substr(2));
}

TEST_CASE("a schema's prompts are of the day on which it was loaded") {
  Days days;
  const auto schema = days.load();
  const std::string body = "<doc/><user>And where?</user>", first = days.flat(schema, body);
  CHECK(first.starts_with(" 26 U: "));
  days.time += 86400;
  CHECK(days.flat(schema, body) == first);
  CHECK(days.flat(days.load(), body) == " 27" + first.substr(3));
}

TEST_CASE("a conversation of a schema goes on over midnight as it began") {
  Days days;
  const auto schema = days.load();
  const auto prompt =
      must(LoadedPrompt::parse(schema, "<prompt schema='s'><user>And where?</user></prompt>"));
  const bool over_midnight = GENERATE(false, true);
  SessionOptions options;
  options.max_tokens = 4;
  const auto session = must(Session::open(prompt, options));
  while (must(session->next())) {
  }
  const Position before = session->position();
  if (over_midnight) days.time += 86400;
  const std::vector<pml::ChatTurn> turns = {{pml::Role::kUser, "When?"}};
  must(session->append(turns));
  CHECK(session->position() > before);
}

}  // namespace
}  // namespace pc::test
