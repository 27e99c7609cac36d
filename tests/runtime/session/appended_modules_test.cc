// Modules that turns bring into a conversation that is under way: it equals the prompt that it has
// become, opened anew.

#include <catch2/catch.hpp>
#include <cmath>

#include "pml/syntax/prompt_parser.h"
#include "tests/support/expect.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_chat.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

// Of logits of about one, in another order of sums.
constexpr float kRounding = 1e-4f;

constexpr const char* kSchema = R"(<schema name="s">
  <module name="oslo">The tram of Oslo costs <param name="fare" len="4"/> euros and goes to the park
    every ten minutes, but on Sundays every twenty; the museum is open until nine.</module>
  <module name="rome">The bus of Rome is late. <module name="metro">Its metro is not.</module></module>
  <union><module name="spring">It rains.</module><module name="summer">It is hot.</module></union>
  <module name="secret" cache="false">The code is seven.</module>
</schema>)";

constexpr const char* kFirst = "<user><oslo fare='two'/> What does it cost?</user>";
constexpr const char* kAnswer = "<assistant>The tram is late.</assistant>";

// A token of its own stands between an answer and its opening, so that neither reaches into the
// other's, and what was drawn has the tokens of its text.
std::string turns(const std::string& past = "A:") {
  return "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}U: {{ m.content }}"
         "{{ eos_token }}{% elif m.role == 'assistant' %}" +
         past +
         "{{ bos_token }}{{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"
         "{% if add_generation_prompt %}A:{{ bos_token }}{% endif %}";
}

class Chat {
 public:
  explicit Chat(const char* pml = kSchema, const std::string& chat_template = turns()) {
    write_chat_template(checkpoint_, chat_template);
    EngineOptions o;
    o.model_path = checkpoint_.path();
    o.cache_dir = cache_.path();
    o.kv_type = KvType::kF32;
    o.n_threads = 1;
    engine_ = must(Engine::open(o));
    schema_ = must(LoadedSchema::parse(engine_, pml, ""));
  }

  std::shared_ptr<const LoadedPrompt> prompt(const std::string& content) const {
    return must(LoadedPrompt::parse(schema_, document(content)));
  }
  static std::string document(const std::string& content) {
    return "<prompt schema='s'>" + content + "</prompt>";
  }

  // Its first answer is kAnswer's, as a prompt that has it would have its tokens.
  std::unique_ptr<Session> answered(bool no_reuse = false) const {
    return answered(kAnswer, no_reuse);
  }
  std::unique_ptr<Session> answered(const char* said, bool no_reuse = false) const {
    const auto whole = prompt(std::string(kFirst) + said + "<user>And?</user>");
    SessionOptions o;
    o.no_reuse = no_reuse;
    o.repair = repair;
    Tokens answer;
    for (const pml::PlanRun& run : whole->plan.runs)
      if (run.kind == pml::RunKind::kText && run.turn == 1) answer = run.tokens;
    REQUIRE(answer.size() > 2);
    o.max_tokens = static_cast<std::uint32_t>(answer.size());
    o.mask = only(answer);
    auto session = must(Session::open(prompt(kFirst), o));
    while (must(session->next())) {
    }
    return session;
  }

  std::unique_ptr<Session> opened(const std::string& content, bool no_reuse = false) const {
    SessionOptions o;
    o.max_tokens = 8;
    o.no_reuse = no_reuse;
    o.repair = repair;
    auto session = must(Session::open(prompt(content), o));
    must(session->prefill());
    return session;
  }

  LoadedSchema& schema() const { return *schema_; }

  pml::Repair repair;

 private:
  TinyCheckpoint checkpoint_{5};
  TempFolder cache_;
  std::shared_ptr<const Engine> engine_;
  std::shared_ptr<LoadedSchema> schema_;
};

void require_same(const Session& got, const Session& want) {
  REQUIRE(got.position() == want.position());
  const auto a = got.logits(), b = want.logits();
  REQUIRE(a.size() == b.size());
  for (std::size_t v = 0; v < a.size(); ++v) REQUIRE(std::fabs(a[v] - b[v]) <= kRounding);
}

}  // namespace

TEST_CASE("turns with modules are as in a prompt that has the whole conversation") {
  const auto next =
      GENERATE(as<std::string>(), "<user>And <rome/> then?</user>",
               "<user><rome><metro/></rome><secret/><summer/>Now?</user>",
               "<user>Thanks.</user><assistant>So?</assistant><user><summer/></user>");
  const bool no_reuse = GENERATE(false, true);
  const auto repair = GENERATE(as<std::string>(), "none", "leading:3", "selected:100%");
  CAPTURE(next, no_reuse, repair);
  Chat chat;
  chat.repair = must(pml::parse_repair(repair));
  const auto session = chat.answered(no_reuse);
  const Position before = session->position();
  must(session->append_pml(Chat::document(next)));
  const auto whole = chat.opened(std::string(kFirst) + kAnswer + next, no_reuse);
  require_same(*session, *whole);
  const SessionStats stats = session->stats();
  CHECK(stats.prompt_tokens == static_cast<std::uint64_t>(session->position()));
  CHECK(stats.cached_tokens + stats.computed_tokens == stats.prompt_tokens);
  CHECK(stats.cached_tokens >= static_cast<std::uint64_t>(before));
  CHECK((stats.modules_found > 0) == !no_reuse);
  CHECK((stats.encoded_tokens > 0) == (stats.modules_encoded > 0 && repair != "selected:100%"));
  CHECK(stats.encoded_tokens <= stats.cached_tokens);
  CHECK((stats.repaired_tokens > 0) == (!no_reuse && repair != "none"));
  // And the turn after that, in text.
  while (must(session->next())) {
  }
  const std::vector<pml::ChatTurn> thanks = {{pml::Role::kUser, "Thanks."}};
  must(session->append(thanks));
  CHECK(session->position() > whole->position());
}

TEST_CASE("what auto stands for stays the same in a conversation and its forks") {
  Chat chat;
  chat.repair = must(pml::parse_repair("auto"));
  CHECK(chat.schema().set_verdict(must(pml::parse_repair("leading:3"))));
  const auto session = chat.opened("<user><rome/><summer/>Where?</user>");
  CHECK(session->stats().repaired_tokens == 3);
  CHECK(chat.schema().set_verdict(must(pml::parse_repair("none"))));
  const auto fork = must(session->fork());
  for (Session* each : {session.get(), fork.get()}) {
    must(each->append_pml(Chat::document("<user><oslo fare='two'/>And when?</user>")));
    CHECK(each->stats().repaired_tokens == 3);
  }
  CHECK(chat.opened("<user><rome/><summer/>Where?</user>")->stats().repaired_tokens == 0);
}

TEST_CASE("what was brought is forgotten by going back, and kept by a fork") {
  Chat chat;
  chat.repair = must(pml::parse_repair(GENERATE("none", "leading:3", "selected:100%")));
  const auto session = chat.answered();
  const Position end = session->position() + 1;  // with the token drawn last
  const std::string next = "<user>And <rome/> then?</user>";
  must(session->append_pml(Chat::document(next)));
  const auto fork = must(session->fork());
  must(session->rewind(end));
  CHECK(session->stats().prompt_tokens == static_cast<std::uint64_t>(end));
  // A module that is gone may come again; one that is there may not.
  expect_error(fork->append_pml(Chat::document(next)), Code::kPmlSemantic, 1, 30, "twice");
  must(session->append_pml(Chat::document("<user><rome/>Where?</user>")));
  CHECK(session->stats().modules_found == 1);
  const std::string other = "<user><rome/>Where?</user>";
  require_same(*session, *chat.opened(std::string(kFirst) + kAnswer + other));
  require_same(*fork, *chat.opened(std::string(kFirst) + kAnswer + next));
}

TEST_CASE("a conversation with appended modules is kept, and found by the prompt that it became") {
  Chat chat;
  chat.repair = must(pml::parse_repair(GENERATE("none", "leading:3", "selected:100%")));
  const auto session = chat.answered();
  std::string next = "<user>And <rome/> then? ";
  for (int i = 0; i < 20; ++i) next += "Is it far, and how far is it? ";
  next += "</user>";
  must(session->append_pml(Chat::document(next)));
  const std::uint64_t kept = must(session->keep());
  CHECK(kept > 0);
  const auto whole = chat.opened(std::string(kFirst) + kAnswer + next);
  CHECK(whole->stats().chained_tokens > 64);
  require_same(*whole, *session);
}

TEST_CASE("what does not fit behind an answer is refused, and changes nothing") {
  const Chat chat;
  const auto session = chat.answered();
  const auto append = [&](const std::string& turns) {
    return session->append_pml(Chat::document(turns));
  };
  expect_error(append("<user><oslo/>?</user>"), Code::kPmlSemantic, 1, 26, "twice");
  expect_error(append("<user><bergen/>?</user>"), Code::kPmlSemantic, 1, 26, "bergen");
  expect_error(append("<user><spring/><summer/>?</user>"), Code::kPmlSemantic, 1, 35, "union");
  expect_error(append("Bare text"), Code::kPmlSemantic, 1, 20, "in turns");
  expect_error(append("<user>?</user><assistant><rome/></assistant>"), Code::kInvalidArgument, 0, 0,
               "ends with a turn of the user's");
  expect_error(session->append_pml("<prompt schema='other'><user>?</user></prompt>"),
               Code::kPmlSemantic, 1, 1, "other");
  expect_error(session->append_pml("<prompt schema='s' repair='none'><user>?</user></prompt>"),
               Code::kInvalidArgument, 1, 1, "repair=");
  must(append("<user>And <rome/> then?</user>"));
  require_same(*session,
               *chat.opened(std::string(kFirst) + kAnswer + "<user>And <rome/> then?</user>"));
}

TEST_CASE("modules stay where a schema has them: not in front of what was read") {
  SECTION("anonymous text that was read is behind them") {
    const Chat chat(R"(<schema name="s"><module name="rome">Rome is late.</module>Be short.
      <module name="oslo">The tram costs <param name="fare" len="4"/> euros.</module></schema>)");
    const auto session = chat.answered();
    expect_error(session->append_pml(Chat::document("<user><rome/>?</user>")), Code::kPmlSemantic,
                 1, 26, "stands before 'oslo'");
  }
  SECTION("positions are the schema's") {
    const Chat chat(R"(<schema name="s" positions="schema"><module name="oslo">The tram costs
      <param name="fare" len="4"/> euros.</module><module name="rome">Rome.</module></schema>)");
    const auto session = chat.answered();
    expect_error(session->append_pml(Chat::document("<user><rome/>?</user>")), Code::kUnsupported,
                 0, 0, "positions=");
  }
  SECTION("the same behind an answer without text") {
    const Chat chat(R"(<schema name="s"><module name="rome">Rome is late.</module>Be short.
      </schema>)");
    const auto session = chat.opened("<user>Hello</user>");
    const Status refused = session->append_pml(Chat::document("<user><rome/>?</user>"));
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == Code::kUnsupported);
  }
  SECTION("what closes the answer's turn shares a token with it") {
    std::string closing = turns();
    const std::string said = "{{ bos_token }}{{ m.content }}{{ eos_token }}";
    closing.replace(closing.find(said), said.size(), "{{ bos_token }}{{ m.content }}er. ");
    const Chat chat(kSchema, closing);
    const auto session = chat.answered("<assistant>The tram is lat</assistant>");
    expect_error(session->append_pml(Chat::document("<user>And <rome/>?</user>")),
                 Code::kUnsupported, 0, 0, "reaches into what closes");
  }
  SECTION("the format writes the answer otherwise") {
    const Chat chat(kSchema, turns("Past:"));
    const auto session = chat.answered();
    expect_error(session->append_pml(Chat::document("<user><rome/>?</user>")), Code::kUnsupported,
                 0, 0, "modules follow it");
  }
}

}  // namespace pc::test
