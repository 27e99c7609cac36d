// Modules of a model whose layers carry states: exact where they saw what stands before them, and
// what they are whoever puts them where.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/json/json.h"
#include "runtime/reports/reports.h"
#include "runtime/schema/loaded_schema.h"
#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/fixture.h"
#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

// "long" has more tokens than half of a head's keys have numbers, "short" fewer, "least" fewer than
// a convolution reads.
constexpr const char* kSchema =
    R"(<schema name="s">ab cab <module name="long">cab cab abc bca a b cc bb cab abc</module>)"
    R"(<module name="short">a cc bb</module><module name="least">c</module>)"
    R"(<module name="trip">abc bca <param name="days" len="4"/> cab bca abc cab</module>)"
    R"(<scaffold name="both" modules="long short"/></schema>)";

constexpr float kRounding = 2e-5f;

struct Rig {
  Rig() { start(); }

  // Another engine over the same store, as after a restart.
  void start() {
    EngineOptions o;
    o.model_path = model;
    o.cache_dir = folder.path();
    o.kv_type = KvType::kF32;
    o.precision = Precision::kExact;
    o.n_threads = 2;
    engine = must(Engine::open(o));
    schema = must(LoadedSchema::parse(engine, kSchema, ""));
  }

  // Of answers that never end by themselves.
  SessionOptions options() const {
    SessionOptions o;
    o.max_tokens = 6;
    for (const std::int32_t end : engine->model().eos)
      o.sampler.bias.push_back({end, -std::numeric_limits<float>::infinity()});
    return o;
  }

  std::shared_ptr<const LoadedPrompt> prompt(const std::string& inside) const {
    return must(LoadedPrompt::parse(schema, "<prompt schema=\"s\">" + inside + "</prompt>"));
  }
  std::unique_ptr<Session> open(const std::string& inside) const {
    return opened(prompt(inside), options());
  }
  // The same with nothing reused.
  std::unique_ptr<Session> open_anew(const std::string& inside) const {
    SessionOptions o = options();
    o.no_reuse = true;
    return opened(prompt(inside), o);
  }
  static std::unique_ptr<Session> opened(std::shared_ptr<const LoadedPrompt> prompt,
                                         const SessionOptions& options) {
    auto session = must(Session::open(std::move(prompt), options));
    REQUIRE(session->prefill().ok());
    return session;
  }

  const std::string model =
      golden(GENERATE("gguf/lfm2.gguf", "gguf/qwen3_5.gguf", "gguf/qwen3_next.gguf",
                      "gguf/granite_hybrid.gguf", "gguf/falcon_h1.gguf", "gguf/nemotron_h.gguf"));
  TempFolder folder;
  std::shared_ptr<const Engine> engine;
  std::shared_ptr<LoadedSchema> schema;
};

std::vector<TokenId> say(Session& session) {
  std::vector<TokenId> tokens;
  while (const auto token = must(session.next())) tokens.push_back(*token);
  return tokens;
}

// How far the first tokens' logits are apart, of the largest of them.
float distance(Session& one, Session& other) {
  const auto a = one.logits(), b = other.logits();
  REQUIRE(a.size() == b.size());
  float off = 0, most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    off = std::max(off, std::fabs(a[i] - b[i]));
    most = std::max(most, std::fabs(a[i]));
  }
  return off / most;
}

std::string repeated(const std::string& text, int n) {
  std::string all;
  for (int i = 0; i < n; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("one module behind its prefix is what a full prefill makes, encoded now or found") {
  Rig rig;
  for (const std::string inside : {"<long/>bca abc", "<short/>cab", "<least/>cab ab"}) {
    INFO(inside);
    const auto anew = rig.open_anew(inside), first = rig.open(inside), second = rig.open(inside);
    CHECK(anew->stats().cached_tokens == 0);
    CHECK(first->stats().modules_encoded >= 1);
    CHECK(second->stats().modules_encoded == 0);
    CHECK(second->stats().cached_tokens > second->stats().computed_tokens / 2);
    CHECK(distance(*first, *anew) <= kRounding);
    CHECK(distance(*second, *first) == 0);
    rig.start();
    const auto restarted = rig.open(inside);
    CHECK(restarted->stats().modules_encoded == 0);
    CHECK(distance(*restarted, *first) == 0);
    CHECK(say(*restarted) == say(*anew));
  }
}

TEST_CASE("a scaffold is what a full prefill makes, and modules side by side are not") {
  const Rig rig;
  const std::string inside = "<long/><short/>bca abc", other = "<long/><least/>bca abc";
  CHECK(distance(*rig.open(other), *rig.open_anew(other)) > 10 * kRounding);
  const auto together = rig.open(inside);
  CHECK(together->stats().cached_tokens > together->stats().computed_tokens);
  CHECK(distance(*together, *rig.open_anew(inside)) <= kRounding);
}

TEST_CASE("fresh text between modules is read in its place, whatever was encoded in which order") {
  const Rig rig;
  const std::string inside = "<long/>bca <short/>ab <least/>cab <trip days=\"ab\"/>abc";
  const auto first = rig.open(inside), again = rig.open(inside);
  CHECK(first->stats().modules_encoded > 0);
  CHECK(again->stats().modules_encoded == 0);
  CHECK(distance(*again, *first) == 0);
  const auto other = rig.open("<short/>bca <long/>ab <least/>cab <trip days=\"ab\"/>abc");
  CHECK(distance(*other, *first) > kRounding);
}

TEST_CASE("a conversation behind modules goes back, forks, and is found by others") {
  Rig rig;
  const std::string inside = "<long/><short/>" + repeated("bca abc cab ", 60);
  const auto session = rig.open(inside);
  const Position end = session->position();
  const auto said = say(*session);
  REQUIRE(said.size() == 6);
  const auto fork = must(session->fork());
  REQUIRE(fork->rewind(end + 2).ok());
  CHECK(say(*fork) == std::vector<TokenId>(said.begin() + 2, said.end()));
  CHECK(must(session->keep()) > 0);
  rig.start();
  const auto again = rig.open(inside);
  CHECK(again->stats().chained_tokens >= Chain::kMaxTokens);
  CHECK(say(*again) == said);
}

TEST_CASE("a module that was encoded behind stand-ins is exact behind modules that say the same") {
  Rig rig;
  const std::string modules = R"(<module name="a">cab cab abc bca a b cc</module>)"
                              R"(<module name="b">bb abc cab ab bca abc</module>)";
  rig.schema = must(LoadedSchema::parse(
      rig.engine,
      "<schema name=\"s\" attend=\"slots\">ab <stand-in>cab cab abc bca a b cc</stand-in>" +
          modules + "</schema>",
      ""));
  const std::string inside = "<a/><b/>bca abc";
  CHECK(distance(*rig.open(inside), *rig.open_anew(inside)) <= kRounding);
  rig.schema =
      must(LoadedSchema::parse(rig.engine, "<schema name=\"s\">ab " + modules + "</schema>", ""));
  CHECK(distance(*rig.open(inside), *rig.open_anew(inside)) > 10 * kRounding);
}

TEST_CASE("a check of answers asks for none where a module has a repair of its own") {
  const Rig rig;
  const auto schema = must(
      LoadedSchema::parse(rig.engine,
                          R"(<schema name="s">ab <module name="m">cab abc</module>)"
                          R"(<module name="n" repair="leading:2">bca cab abc</module></schema>)",
                          ""));
  SessionOptions o = rig.options();
  o.checked_repair = pml::Repair{};
  const auto session = Rig::opened(
      must(LoadedPrompt::parse(schema, R"(<prompt schema="s"><m/><n/>bca</prompt>)")), o);
  CHECK(session->stats().repaired_tokens == 0);
  CHECK(session->stats().cached_tokens > 0);
}

TEST_CASE("explain says what a session then does") {
  const Rig rig;
  for (const std::string inside :
       {"<long/>bca abc", "<long/>bca <trip days=\"ab\"/><short/>ab", "<short/><long/>"}) {
    INFO(inside);
    static_cast<void>(rig.open(inside));  // which encodes the modules
    const auto report =
        must(JsonDocument::parse(explain_prompt(*rig.prompt(inside)), "explain", {}));
    const auto session = rig.open(inside);
    const SessionStats& stats = session->stats();
    const auto said = [&](const char* key) {
      return static_cast<std::uint64_t>(*report.root().member(key)->integer());
    };
    CHECK(said("cached_tokens") == stats.cached_tokens);
    CHECK(said("computed_tokens") == stats.computed_tokens);
    std::uint64_t bytes = 0;
    const JsonView runs = *report.root().member("runs");
    for (std::size_t i = 0; i < runs.size(); ++i)
      bytes += static_cast<std::uint64_t>(*runs.at(i).member("bytes")->integer());
    CHECK(bytes == stats.cached_bytes);
  }
}

TEST_CASE("what is appended behind modules is read as the same tokens given at once are") {
  const Rig rig;
  const auto session = rig.open("<long/><short/>bca abc"),
             other = rig.open("<long/><short/>bca abc");
  Tokens text = say(*session);
  const Tokens more = must(rig.engine->tokenize("cab", {.opens = false}));
  REQUIRE(session->append_tokens(more).ok());
  text.insert(text.end(), more.begin(), more.end());
  REQUIRE(other->append_tokens(text).ok());
  CHECK(say(*other) == say(*session));
}

TEST_CASE("a prompt that ends with a module reads that as text") {
  const Rig rig;
  const auto session = rig.open("<short/><long/>"), anew = rig.open_anew("<short/><long/>");
  CHECK(session->stats().cached_tokens > 0);
  CHECK(session->stats().computed_tokens > 1);
  CHECK(distance(*session, *anew) <= kRounding);  // one module behind its prefix, and text
}

TEST_CASE("tokens of modules are not computed anew, and whoever asks for it is told") {
  const Rig rig;
  SessionOptions o = rig.options();
  o.repair = pml::Repair{pml::Repair::Kind::kLeading, 2, 0};
  const Status refused = must(Session::open(rig.prompt("<long/><short/>ab"), o))->prefill();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::kUnsupported);
  // All of them make a full prefill.
  const std::string inside = "<long/><least/>ab";
  o.repair = pml::Repair{pml::Repair::Kind::kLeading, pml::kAllTokens, 0};
  const auto whole = Rig::opened(rig.prompt(inside), o);
  CHECK(whole->stats().repaired_tokens > 0);
  CHECK(distance(*whole, *rig.open_anew(inside)) <= kRounding);
  const auto schema = must(LoadedSchema::parse(
      rig.engine,
      R"(<schema name="s" repair="attended:10%">ab <module name="m">cab abc</module></schema>)",
      ""));
  const auto prompt = must(LoadedPrompt::parse(schema, R"(<prompt schema="s"><m/>bca</prompt>)"));
  REQUIRE(prompt->plan.remarks.size() == 1);
  CHECK(prompt->plan.remarks.front().starts_with("repair= is left out"));
  CHECK(Rig::opened(prompt, rig.options())->stats().repaired_tokens == 0);
}

}  // namespace pc::test
