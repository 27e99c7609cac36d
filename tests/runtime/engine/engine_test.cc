// The whole path: PML text, modules in files, sessions. The dense oracle sees
// only tokens, positions and who may see whom; everything else is the engine's.

#include "runtime/engine/engine.h"

#include <malloc.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

#include "runtime/json/json.h"
#include "runtime/reports/counts.h"
#include "runtime/reports/reports.h"
#include "runtime/session/session.h"
#include "tests/support/count_allocations.h"
#include "tests/support/expect.h"
#include "tests/support/plan_oracle.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

constexpr const char* kTravel = R"(<schema name="travel">
  <system>You are a travel assistant.</system>
  Always be short.
  <module name="trip">Plan a trip of <param name="duration" len="6"/> for one person.</module>
  <union>
    <module name="miami">Miami has beaches and good food.</module>
    <module name="tokyo" cache="false">Tokyo has temples, gardens and noodles.</module>
  </union>
  Cities follow.
  <module name="europe">Europe is old. <module name="paris">Paris has museums.</module> It has trains.
    <module name="rome">Rome has fountains and hills.</module></module>
  <scaffold name="both" modules="trip miami"/>
</schema>)";

const std::vector<std::string> kPrompts = {
    R"(<prompt schema="travel"><user>Where shall I go?</user></prompt>)",
    R"(<prompt schema="travel"><trip duration="3 days"/><user>Highlight the food.</user></prompt>)",
    R"(<prompt schema="travel"><trip duration="3 days"/><miami/><user>)"
    R"(Highlight the food.</user></prompt>)",
    R"(<prompt schema="travel"><trip/><tokyo/>Be kind.<europe><paris/></europe><user>)"
    R"(What now?</user></prompt>)",
    R"(<prompt schema="travel">Note this. <europe>First <paris/> then <rome/> last</europe> )"
    R"(Tell me more.</prompt>)",
    R"(<prompt schema="travel"><miami/><europe/></prompt>)",
};

EngineOptions options_for(const TinyCheckpoint& checkpoint, const std::string& cache,
                          KvType type = KvType::kF32) {
  EngineOptions o;
  o.model_path = checkpoint.path();
  o.cache_dir = cache;
  o.kv_type = type;
  o.chat_template = "llama2";
  o.n_threads = 2;
  return o;
}

std::shared_ptr<LoadedSchema> schema_for(const std::shared_ptr<const Engine>& engine,
                                         std::string text, const std::string& modes = "") {
  if (!modes.empty()) text.replace(text.find("name=\"travel\""), 13, "name=\"travel\" " + modes);
  return must(LoadedSchema::parse(engine, text, ""));
}

std::unique_ptr<Session> session_for(const std::shared_ptr<LoadedSchema>& schema,
                                     const std::string& prompt, bool no_reuse = false,
                                     std::uint32_t max_tokens = 8) {
  SessionOptions o;
  o.max_tokens = max_tokens;
  o.no_reuse = no_reuse;
  return must(Session::open(must(LoadedPrompt::parse(schema, prompt)), o));
}

std::vector<TokenId> generate(Session& session) {
  std::vector<TokenId> tokens;
  while (const auto token = must(session.next())) tokens.push_back(*token);
  return tokens;
}

double worst(std::span<const float> got, const std::vector<double>& want) {
  return max_difference({got.begin(), got.end()}, want);
}

const std::vector<std::string> kModes = {"",
                                         "positions=\"schema\"",
                                         "attend=\"self\"",
                                         "attend=\"schema\"",
                                         "repair=\"leading:2\"",
                                         "attend=\"self\" repair=\"leading:3\"",
                                         "positions=\"schema\" repair=\"leading:100\"",
                                         "attend=\"self\" positions=\"schema\"",
                                         "attend=\"schema\" positions=\"schema\""};

TEST_CASE("every prompt in every mode equals the dense oracle, encoded and mapped") {
  const TinyCheckpoint checkpoint(1);
  for (const std::string& modes : kModes) {
    const TempFolder cache;
    for (int process = 0; process < 2; ++process) {  // 0 encodes, 1 maps
      const auto engine = must(Engine::open(options_for(checkpoint, cache.path())));
      const auto schema = schema_for(engine, kTravel, modes);
      for (const std::string& prompt : kPrompts) {
        INFO(modes << " " << process << " " << prompt);
        const auto session = session_for(schema, prompt);
        REQUIRE(session->prefill().ok());
        REQUIRE(worst(session->logits(),
                      oracle_logits(checkpoint.desc(),
                                    *must(LoadedPrompt::parse(schema, prompt)))) <= 1e-4);
        if (process == 1) REQUIRE(session->stats().modules_encoded == 0);
      }
    }
  }
}

TEST_CASE("a scaffold over all imports, and one module after its prefix, equal the full prefill") {
  const TinyCheckpoint checkpoint(2);
  const TempFolder cache;
  const auto engine = must(Engine::open(options_for(checkpoint, cache.path())));
  // An empty slot is seen by no one in the flat prompt: the scaffold's text has none.
  const std::string scaffold =
      R"(<schema name="travel">Start. <module name="a">Alpha and beta.</module> Middle.
      <module name="b">Gamma, delta. <module name="c">Nested text.</module> More.</module>
      <scaffold name="all" modules="a b b/c"/></schema>)";
  for (const std::string& modes : {std::string(), std::string("attend=\"self\"")}) {
    const auto schema = schema_for(engine, scaffold, modes);
    const std::string prompt = R"(<prompt schema="travel"><a/><b><c/></b> Question?</prompt>)";
    const auto cached = session_for(schema, prompt), full = session_for(schema, prompt, true);
    REQUIRE(cached->prefill().ok());
    REQUIRE(full->prefill().ok());
    REQUIRE(cached->stats().cached_tokens > 0);
    REQUIRE(cached->stats().encoded_tokens == cached->stats().cached_tokens);
    const auto again = session_for(schema, prompt);
    REQUIRE(again->prefill().ok());
    REQUIRE(again->stats().cached_tokens == cached->stats().cached_tokens);
    REQUIRE(again->stats().encoded_tokens == 0);
    REQUIRE(full->stats().cached_tokens == 0);
    for (std::size_t v = 0; v < full->logits().size(); ++v)
      REQUIRE(std::fabs(cached->logits()[v] - full->logits()[v]) <= 1e-4f);
  }
  const auto schema = schema_for(
      engine,
      R"(<schema name="travel">Start here. <module name="a">Alpha and beta.</module></schema>)");
  const std::string prompt = R"(<prompt schema="travel"><a/> Question?</prompt>)";
  const auto cached = session_for(schema, prompt), full = session_for(schema, prompt, true);
  REQUIRE(generate(*cached) == generate(*full));
  for (std::size_t v = 0; v < full->logits().size(); ++v)
    REQUIRE(std::fabs(cached->logits()[v] - full->logits()[v]) <= 1e-4f);
}

TEST_CASE("one file serves two schemas at two offsets") {
  const TinyCheckpoint checkpoint(3);
  const TempFolder cache;
  const auto engine = must(Engine::open(options_for(checkpoint, cache.path())));
  const auto near = schema_for(
      engine,
      R"(<schema name="travel" attend="self"><module name="x">The same page of text.</module>)"
      R"(</schema>)");
  const auto far = schema_for(
      engine, R"(<schema name="travel" attend="self">Much text stands before it here, )"
              R"(and more of it. <module name="page">The same page of text.</module></schema>)");
  const auto find = [](const LoadedSchema& schema, const std::string& name) -> SchemaModule& {
    for (const auto& module : schema.modules())
      if (module->job.name == name) return *module;
    FAIL("no module " << name);
    return *schema.modules()[0];
  };
  REQUIRE(key_of(find(*near, "x").identity) == key_of(find(*far, "page").identity));
  const auto first = session_for(near, R"(<prompt schema="travel"><x/>Question?</prompt>)");
  REQUIRE(first->prefill().ok());
  const std::string prompt = R"(<prompt schema="travel"><page/>Question?</prompt>)";
  const auto second = session_for(far, prompt);
  REQUIRE(second->prefill().ok());
  REQUIRE(second->stats().modules_encoded == 1);  // only the anonymous text
  REQUIRE(worst(second->logits(),
                oracle_logits(checkpoint.desc(), *must(LoadedPrompt::parse(far, prompt)))) <= 1e-4);
}

TEST_CASE("explain is what the run then does, and answers repeat token for token") {
  const TinyCheckpoint checkpoint(4, 1024, 32);
  const TempFolder cache;  // of all types: a module of one is none for the others
  std::map<KvType, std::uint32_t> encoded;
  for (const KvType type : {KvType::kBf16, KvType::kQ8, KvType::kQ4}) {
    std::vector<std::vector<TokenId>> answers;
    for (int process = 0; process < 3; ++process) {
      const auto engine = must(Engine::open(options_for(checkpoint, cache.path(), type)));
      const auto schema = schema_for(engine, kTravel);
      for (std::size_t i = 0; i < kPrompts.size(); ++i) {
        const auto prompt = must(LoadedPrompt::parse(schema, kPrompts[i]));
        const JsonDocument report = must(JsonDocument::parse(explain_prompt(*prompt), "explain"));
        SessionOptions o;
        o.max_tokens = 8;
        const auto session = must(Session::open(prompt, o));
        const auto answer = generate(*session);
        const SessionStats& stats = session->stats();
        const auto number = [&](const char* key) {
          return static_cast<std::uint64_t>(report.root().member(key)->integer().value());
        };
        REQUIRE(number("prompt_tokens") == stats.prompt_tokens);
        REQUIRE(number("cached_tokens") == stats.cached_tokens);
        REQUIRE(number("computed_tokens") == stats.computed_tokens);
        REQUIRE(stats.cached_tokens + stats.computed_tokens == stats.prompt_tokens);
        const JsonView modules = report.root().member("modules").value();
        std::uint32_t misses = 0;
        for (std::size_t m = 0; m < modules.size(); ++m)
          misses += modules.at(m).member("state")->string().value() == "miss";
        REQUIRE(misses == stats.modules_encoded);
        REQUIRE(modules.size() == stats.modules_found);
        if (process == 0) answers.push_back(answer);
        REQUIRE(answer == answers[i]);
        if (process == 0) encoded[type] += stats.modules_encoded;
      }
    }
  }
  REQUIRE(encoded[KvType::kBf16] > 0);
  REQUIRE(encoded[KvType::kQ8] == encoded[KvType::kBf16]);
  REQUIRE(encoded[KvType::kQ4] == encoded[KvType::kBf16]);
}

TEST_CASE("modules are used in place: no byte of K/V is copied, and no token allocates") {
  const TinyCheckpoint checkpoint(5, 1024, 32);
  const TempFolder cache;
  const KvType type = GENERATE(KvType::kBf16, KvType::kQ8, KvType::kQ4);
  for (int process = 0; process < 2; ++process) {
    const auto engine = must(Engine::open(options_for(checkpoint, cache.path(), type)));
    const auto schema = schema_for(engine, kTravel);
    SessionOptions o;
    o.max_tokens = 48;
    o.max_draft = 0;  // drafts want their logits
    const auto session = must(Session::open(must(LoadedPrompt::parse(schema, kPrompts[2])), o));
    REQUIRE(must(session->next()).has_value());
    // The segments that attention reads lie inside a mapping of the module's file.
    std::string maps = read_file("/proc/self/maps");
    for (const auto& module : schema->modules()) {
      bool held = false;
      const Lookup found = schema->peek(*module, &held);
      if (!held) continue;
      const auto at = reinterpret_cast<std::uintptr_t>(found.module->segment(0, 7).data);
      bool inside = false;
      for (std::size_t line = 0; line < maps.size(); line = maps.find('\n', line) + 1) {
        const std::string text = maps.substr(line, maps.find('\n', line) - line);
        char* end = nullptr;
        const auto low = std::strtoull(text.c_str(), &end, 16),
                   high = std::strtoull(end + 1, nullptr, 16);
        if (at >= low && at < high)
          inside = text.find(key_of(module->identity).hex()) != std::string::npos &&
                   text.find(" r--s ") != std::string::npos;
      }
      REQUIRE(inside);
    }
    REQUIRE(must(session->next()).has_value());  // the first step opens the tail's segment
    // Far enough to open new blocks of 16 rows.
    const long before = allocations();
    const auto heap = ::mallinfo2().uordblks;
    int steps = 0;
    while (steps < 40 && session->next().value().has_value()) ++steps;
    REQUIRE(allocations() - before == 0);
    REQUIRE(::mallinfo2().uordblks == heap);
    REQUIRE(steps >= 20);
  }
}

TEST_CASE("a damaged file is a miss: set aside, computed anew, the answer unchanged") {
  const TinyCheckpoint checkpoint(6);
  const TempFolder cache;
  const auto answer_now = [&](std::uint32_t* encoded) {
    const auto engine = must(Engine::open(options_for(checkpoint, cache.path())));
    const auto session = session_for(schema_for(engine, kTravel), kPrompts[2]);
    const auto answer = generate(*session);
    *encoded = session->stats().modules_encoded;
    return answer;
  };
  std::uint32_t encoded = 0;
  const auto want = answer_now(&encoded);
  REQUIRE(encoded > 0);
  for (const auto& entry : std::filesystem::directory_iterator(cache.path() + "/v3/objects")) {
    ::chmod(entry.path().c_str(), 0600);
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(40);
    file.put('\x5a');
  }
  REQUIRE(answer_now(&encoded) == want);
  REQUIRE(encoded > 0);
  REQUIRE(answer_now(&encoded) == want);
  REQUIRE(encoded == 0);
}

TEST_CASE("without a store, with a read-only one: the same answer") {
  const TinyCheckpoint checkpoint(7);
  const TempFolder cache;
  EngineOptions o = options_for(checkpoint, cache.path());
  const auto answer = [&](const EngineOptions& options) {
    const auto schema = schema_for(must(Engine::open(options)), kTravel);
    const auto first = generate(*session_for(schema, kPrompts[1]));
    const auto session = session_for(schema, kPrompts[1]);
    REQUIRE(generate(*session) == first);
    REQUIRE(session->stats().modules_encoded == 0);  // held in memory
    return first;
  };
  const auto want = answer(o);
  o.cache_mode = CacheMode::kOff;
  REQUIRE(answer(o) == want);
  o.cache_mode = CacheMode::kReadOnly;
  REQUIRE(answer(o) == want);
}

TEST_CASE("what does not fit the context is an error before any work, with the numbers") {
  const TinyCheckpoint checkpoint(8, 64);
  const TempFolder cache;
  const auto engine = must(Engine::open(options_for(checkpoint, cache.path())));
  const auto schema = schema_for(engine, kTravel);
  SessionOptions o;
  const auto prompt = must(LoadedPrompt::parse(schema, kPrompts[3]));
  const auto session = Session::open(prompt, o);
  REQUIRE_FALSE(session.ok());
  REQUIRE(session.error().code == Code::kContextFull);
  REQUIRE(session.error().message.find("64") != std::string::npos);
  o.cut_to_window = true;  // the answer may be cut, the prompt not
  REQUIRE(Session::open(prompt, o).error().code == Code::kContextFull);
  REQUIRE(std::filesystem::is_empty(cache.path() + "/v3/objects"));
}

TEST_CASE("cancelling stops before the next layer and the session stays usable for reading") {
  const TinyCheckpoint checkpoint(9);
  const TempFolder cache;
  const auto schema =
      schema_for(must(Engine::open(options_for(checkpoint, cache.path()))), kTravel);
  const auto session = session_for(schema, kPrompts[2]);
  session->cancel();
  const auto token = session->next();
  REQUIRE_FALSE(token.ok());
  REQUIRE(token.error().code == Code::kCancelled);
  REQUIRE(session->stats().finish == Finish::kCancelled);
  REQUIRE(std::filesystem::is_empty(cache.path() + "/v3/objects"));
}

TEST_CASE("an encoding pass beyond the context is an error before any work") {
  const TinyCheckpoint checkpoint(12);
  const TempFolder cache;
  EngineOptions o = options_for(checkpoint, cache.path());
  const std::string long_text(600, 'x');
  const std::string pml =
      "<schema name=\"travel\" attend=\"schema\"><module name=\"a\">One.</module>"
      "<module name=\"b\">" +
      long_text + "</module><module name=\"c\">Three.</module></schema>";
  o.context_tokens = 100;
  const auto schema = schema_for(must(Engine::open(o)), pml);
  const auto prompt =
      must(LoadedPrompt::parse(schema, R"(<prompt schema="travel"><a/><c/>Question?</prompt>)"));
  SessionOptions options;
  const auto session = Session::open(prompt, options);
  REQUIRE_FALSE(session.ok());
  REQUIRE(session.error().code == Code::kContextFull);
  REQUIRE(session.error().message.find("module \"c\"") != std::string::npos);
  REQUIRE_FALSE(schema->encode(schema->modules(), [](auto&&...) { return true; }).ok());
  REQUIRE(std::filesystem::is_empty(cache.path() + "/v3/objects"));
  options.no_reuse = true;  // needs no pass
  REQUIRE(Session::open(prompt, options).ok());
}

TEST_CASE("a cancelled prefill goes on when it is asked again and counts nothing twice") {
  const TinyCheckpoint checkpoint(13);
  const TempFolder cache;
  const auto schema =
      schema_for(must(Engine::open(options_for(checkpoint, cache.path()))), kTravel);
  const auto session = session_for(schema, kPrompts[2]);
  for (int i = 0; i < 3; ++i) {
    session->cancel();
    const Status prefilled = session->prefill();
    REQUIRE_FALSE(prefilled.ok());
    REQUIRE(prefilled.error().code == Code::kCancelled);
    REQUIRE(session->logits().empty());
    REQUIRE(session->stats().prompt_tokens == 0);
    REQUIRE(session->stats().finish == Finish::kCancelled);
  }
  must(session->prefill());
  const auto other = session_for(schema, kPrompts[2]);
  must(other->prefill());
  CHECK(session->stats().prompt_tokens == other->stats().prompt_tokens);
  CHECK(session->stats().modules_found == other->stats().modules_found);
  CHECK(session->stats().finish == Finish::kNone);
}

TEST_CASE("options that cannot be meant are refused before the model is read") {
  EngineOptions o;
  o.model_path = "/nonexistent";
  o.n_threads = 3000;
  const auto engine = Engine::open(o);
  REQUIRE_FALSE(engine.ok());
  REQUIRE(engine.error().message.find("n_threads") != std::string::npos);
}

// One process of the test below: encodes everything, answers, and tells its
// answer by a file. (OpenMP's threads do not survive a fork; a new program has its own.)
TEST_CASE("a process that encodes and answers", "[.process]") {
  EngineOptions o;
  o.model_path = std::getenv("PC_TEST_MODEL");
  o.cache_dir = std::getenv("PC_TEST_CACHE");
  o.chat_template = "llama2";
  o.kv_type = KvType::kF32;
  o.n_threads = 1;
  const auto schema = schema_for(must(Engine::open(o)), kTravel);
  REQUIRE(schema->encode(schema->modules(), [](auto&&...) { return true; }).ok());
  std::ofstream out(std::getenv("PC_TEST_ANSWER"));
  for (const TokenId token : generate(*session_for(schema, kPrompts[2]))) out << token << ' ';
}

TEST_CASE("sixteen processes encode one schema: one file a module, equal answers") {
  const TinyCheckpoint checkpoint(10);
  const TempFolder cache, answers;
  ::setenv("PC_TEST_MODEL", checkpoint.path().c_str(), 1);
  ::setenv("PC_TEST_CACHE", cache.path().c_str(), 1);
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) {
    ::setenv("PC_TEST_ANSWER", (answers.path() + "/" + std::to_string(i)).c_str(), 1);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::execl(PC_ENGINE_TEST, "engine_test", "[.process]", "-o", "/dev/null",
              static_cast<char*>(nullptr));
      ::_exit(127);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 0);
  }
  std::set<std::string> different;
  for (int i = 0; i < 16; ++i)
    different.insert(read_file(answers.path() + "/" + std::to_string(i)));
  REQUIRE(different.size() == 1);
  REQUIRE_FALSE(different.begin()->empty());
  const auto schema =
      schema_for(must(Engine::open(options_for(checkpoint, cache.path()))), kTravel);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(cache.path() + "/v3/objects"))
    ++files;
  REQUIRE(files == schema->modules().size());
}

TEST_CASE("threads share one engine and one schema") {
  const TinyCheckpoint checkpoint(11);
  const TempFolder cache;
  EngineOptions o = options_for(checkpoint, cache.path());
  o.n_threads = 1;
  const auto schema = schema_for(must(Engine::open(o)), kTravel);
  const auto want = generate(*session_for(schema_for(must(Engine::open(o)), kTravel), kPrompts[3]));
  std::vector<std::vector<TokenId>> got(4);
  std::vector<std::thread> threads;
  for (auto& answer : got) {
    threads.emplace_back([&] {
      SessionOptions s;
      s.max_tokens = 8;
      const auto prompt = LoadedPrompt::parse(schema, kPrompts[3]);
      auto session = Session::open(*prompt, s);
      for (auto token = (*session)->next(); token.ok() && *token; token = (*session)->next())
        answer.push_back(**token);
    });
  }
  for (std::thread& t : threads) t.join();
  for (const auto& answer : got) REQUIRE(answer == want);
}

}  // namespace
}  // namespace pc::test
