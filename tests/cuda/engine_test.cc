// The plug-in as users meet it: loaded by path, behind schemas, modules on disk, conversations and
// repairs, with the CPU as the judge of what is answered.

#include "runtime/engine/engine.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "runtime/engine/whole_texts.h"
#include "runtime/schema/loaded_schema.h"
#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/fixture.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

constexpr const char* kSchema = R"(<schema name="s">Start here.
  <module name="a">The tram of Oslo costs four euros and goes to the park.</module>
  <module name="b">The bus of Rome is late <param name="by" len="6"/> and nobody knows why.</module>
  <union><module name="x">North of it.</module><module name="y">South of the river.</module></union>
  <scaffold name="ay" modules="a y"/></schema>)";

class Users {
 public:
  EngineOptions options(const std::string& backend, Precision precision,
                        KvType type = KvType::kF32) const {
    EngineOptions o;
    o.model_path = checkpoint_.path();
    o.cache_dir = cache_.path();
    o.kv_type = type;
    o.precision = precision;
    o.backend = backend;
    o.require_backend = true;
    o.chat_template = "llama2";
    o.n_threads = 2;
    return o;
  }
  std::shared_ptr<const Engine> open(const std::string& backend, Precision precision,
                                     KvType type = KvType::kF32) const {
    return must(Engine::open(options(backend, precision, type)));
  }

 private:
  TinyCheckpoint checkpoint_{19, 1024, 16};  // heads of 16: q4 wants that
  TempFolder cache_;
};

struct Answer {
  std::vector<TokenId> tokens;
  SessionStats stats;
};

Answer ask(const std::shared_ptr<const Engine>& engine, const std::string& content,
           const std::string& repair, bool no_reuse = false) {
  std::string schema = kSchema;
  schema.insert(schema.find('>'), " repair=\"" + repair + "\"");
  const auto loaded = must(LoadedSchema::parse(engine, schema, ""));
  const auto prompt =
      must(LoadedPrompt::parse(loaded, "<prompt schema='s'>" + content + "</prompt>"));
  SessionOptions o;
  o.max_tokens = 12;
  o.no_reuse = no_reuse;
  const auto session = must(Session::open(prompt, o));
  Answer answer;
  while (const auto token = must(session->next())) answer.tokens.push_back(*token);
  answer.stats = session->stats();
  return answer;
}

TEST_CASE("the plug-in answers as the CPU does, from modules and without, with every repair") {
  const Users users;
  for (const Precision precision : {Precision::kFast, Precision::kExact}) {
    const auto cpu = users.open("", precision), device = users.open(PC_CUDA_PLUGIN, precision);
    REQUIRE(std::string(device->backend().name()) == "cuda");
    REQUIRE(device->remark().empty());
    for (const std::string repair :
         {"none", "leading:3", "selected:30%", "attended:30%", "attended:100%"}) {
      for (const std::string content : {"<a/><b by='an hour'/><y/>What does the tram of Oslo cost?",
                                        "<b/>And where?", "Only text, and some more of it."}) {
        INFO("repair " << repair << " of " << content);
        const Answer want = ask(cpu, content, repair), got = ask(device, content, repair);
        CHECK(got.tokens == want.tokens);
        CHECK(got.stats.cached_tokens == want.stats.cached_tokens);
        CHECK(got.stats.repaired_tokens == want.stats.repaired_tokens);
      }
    }
    const std::string content = "<a/><x/>Say it again.";
    CHECK(ask(device, content, "none", true).tokens == ask(cpu, content, "none", true).tokens);
  }
}

TEST_CASE("who asks the plug-in for deterministic precision is told that the CPU has it") {
  const Users users;
  EngineOptions o = users.options(PC_CUDA_PLUGIN, Precision::kDeterministic);
  const auto refused = Engine::open(o);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::kUnsupported);
  CHECK(refused.error().message.find("has no deterministic precision") != std::string::npos);
  o.require_backend = false;
  const auto engine = must(Engine::open(o));
  CHECK(std::string(engine->backend().name()) == "cpu");
  CHECK(engine->remark().find("using the CPU: the CUDA device has no deterministic precision") !=
        std::string::npos);
}

TEST_CASE("who asks the plug-in for weights of tables is told that the CPU computes them") {
  const Users users;
  EngineOptions o = users.options(PC_CUDA_PLUGIN, Precision::kFast);
  o.model_path = golden("bad_models/sound_iq4_nl.gguf");  // the one matrix of IQ4_NL among others
  const auto refused = Engine::open(o);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::kUnsupported);
  CHECK(refused.error().message.find("no kernels for weights of codebooks and tables") !=
        std::string::npos);
  o.require_backend = false;
  CHECK(std::string(must(Engine::open(o))->backend().name()) == "cpu");
}

TEST_CASE("modules that the plug-in made survive it, and are its own") {
  const Users users;
  const std::string content = "<a/><b by='a day'/>Why?";
  for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kQ8, KvType::kQ4}) {
    INFO(kv_type_name(type));
    const auto open = [&](const char* backend) {
      return users.open(backend, Precision::kFast, type);
    };
    const auto before = ask(open(PC_CUDA_PLUGIN), content, "none");
    CHECK(before.stats.modules_encoded == 3);
    const auto again = ask(open(PC_CUDA_PLUGIN), content, "none");
    CHECK(again.stats.modules_encoded == 0);
    CHECK(again.stats.modules_found == 3);
    CHECK(again.tokens == before.tokens);
    // Neither backend reads states of the other's.
    CHECK(ask(open(""), content, "none").stats.modules_encoded == 3);
  }
}

TEST_CASE("a conversation goes on from what was kept of it") {
  const Users users;
  const auto talk = [&](const std::string& backend) {
    std::vector<TokenId> tokens;
    for (int visit = 0; visit < 2; ++visit) {  // the second one finds what the first one kept
      const auto engine = users.open(backend, Precision::kFast);
      const auto schema = must(LoadedSchema::parse(engine, kSchema, ""));
      const auto prompt = must(LoadedPrompt::parse(
          schema,
          "<prompt schema='s'><a/><user>What does it cost, and where does it go?</user>"
          "</prompt>"));
      SessionOptions o;
      o.max_tokens = 8;
      const auto session = must(Session::open(prompt, o));
      const auto answer = [&] {
        while (const auto token = must(session->next())) tokens.push_back(*token);
      };
      answer();
      must(session->append_pml("<prompt schema='s'><user>And back?</user></prompt>"));
      answer();
      must(session->keep());
      tokens.push_back(static_cast<TokenId>(session->stats().generated_tokens));
    }
    return tokens;
  };
  CHECK(talk(PC_CUDA_PLUGIN) == talk(""));
}

std::unique_ptr<Session> open_session(const std::shared_ptr<const Engine>& engine,
                                      const SessionOptions& options) {
  const auto schema = must(LoadedSchema::parse(engine, kSchema, ""));
  const std::string content = "<a/>What does the tram of Oslo cost, and where does it go?";
  return must(Session::open(
      must(LoadedPrompt::parse(schema, "<prompt schema='s'>" + content + "</prompt>")), options));
}

TEST_CASE("the plug-in computes drafts as rows of a step, and draws what it draws without") {
  const Users users;
  const auto engine = users.open(PC_CUDA_PLUGIN, Precision::kExact);
  SessionOptions o;
  o.max_tokens = 24;
  o.max_draft = 0;
  Tokens plain;
  const auto without = open_session(engine, o);
  while (const auto token = must(without->next())) plain.push_back(*token);
  REQUIRE(plain.size() == o.max_tokens);
  o.max_draft = 7;
  Tokens drawn;
  // Every fifth of what is told is wrong.
  o.draft = [&](Tokens* next, std::size_t most) {
    for (std::size_t i = drawn.size(); i < plain.size() && next->size() < most; ++i)
      next->push_back(i % 5 == 4 ? 7 : plain[i]);
  };
  const auto with = open_session(engine, o);
  while (const auto token = must(with->next())) drawn.push_back(*token);
  CHECK(drawn == plain);
  CHECK(with->stats().right_drafts >= plain.size() / 2);
}

TEST_CASE("the plug-in says how likely a prompt's tokens are, and makes vectors, as the CPU does") {
  const Users users;
  struct Found {
    std::vector<double> logprobs;
    std::vector<float> vector;
  };
  const auto look = [&](const char* backend) {
    const auto engine = users.open(backend, Precision::kExact);
    SessionOptions o;
    o.scoring.emplace();
    const auto session = open_session(engine, o);
    must(session->prefill());
    Found found;
    for (std::size_t i = 1; i < static_cast<std::size_t>(session->position()); ++i)
      found.logprobs.push_back(session->prompt_scores()->of(i).logprob);
    const Tokens text = must(engine->tokenizer().encode("Where does it go?"));
    found.vector.resize(engine->model().desc.d_model);
    const std::vector<Tokens> texts = {text};
    must(embed(*engine, {.texts = texts}, Pooling::kMean,
               static_cast<std::uint32_t>(found.vector.size()), found.vector.data()));
    return found;
  };
  const Found want = look(""), got = look(PC_CUDA_PLUGIN);
  REQUIRE(got.logprobs.size() == want.logprobs.size());
  constexpr double kRounding = 1e-4;
  for (std::size_t i = 0; i < want.logprobs.size(); ++i)
    CHECK(std::fabs(got.logprobs[i] - want.logprobs[i]) <= kRounding);
  for (std::size_t i = 0; i < want.vector.size(); ++i)
    CHECK(std::fabs(got.vector[i] - want.vector[i]) <= kRounding);
}

}  // namespace
}  // namespace pc::test
