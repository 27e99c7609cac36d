// A process that lives long: what prompts came with goes with them, and is shared while
// it is there.

#include "runtime/schema/known_modules.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <numeric>
#include <thread>

#include "modules/module_image.h"  // stored_size
#include "pml/layout/layout_builder.h"
#include "pml/syntax/schema_parser.h"
#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/fake_tokenizer.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

using namespace std::chrono_literals;
using ModulePtr = std::shared_ptr<SchemaModule>;

constexpr std::size_t kMany = 5000;

// The module of a schema behind any number of different openings of a turn.
class Contexts {
 public:
  explicit Contexts(std::uint64_t recent_bytes = 1 << 30)
      : known({layout_, base_, true, model_}, recent_bytes) {}

  pml::JobSpec spec(std::size_t i) const {
    pml::JobSpec spec = pml::plan_encoding(layout_).front();
    spec.markup = {{static_cast<TokenId>(i)}};
    spec.steps.insert(spec.steps.begin(), {pml::kNone, 0, false});
    return spec;
  }
  static ModuleIdentity base() {
    ModuleIdentity identity;
    identity.geometry = {2, 2, 8, KvType::kF32};
    return identity;
  }

 private:
  FakeTokenizer tokenizer_;
  pml::TextEncoder encoder_ = tokenizer_.encoder(bracket_chat());
  pml::Layout layout_ = must(pml::lay_out(
      must(pml::parse_schema("<schema name='s'><module name='m'>a b c</module></schema>")),
      encoder_));
  const ModuleIdentity base_ = base();
  const pc_model_desc model_{};

 public:
  KnownModules known;
};

std::size_t living(const std::vector<std::weak_ptr<SchemaModule>>& modules) {
  return static_cast<std::size_t>(
      std::ranges::count_if(modules, [](const auto& m) { return !m.expired(); }));
}

TEST_CASE("of thousands of modules the latest stay, those in use, and what is kept") {
  Contexts contexts;
  contexts.known.keep(contexts.spec(0));
  const ModulePtr used = contexts.known.get(contexts.spec(1));
  std::vector<std::weak_ptr<SchemaModule>> all;
  for (std::size_t i = 2; i < kMany; ++i) {
    all.push_back(contexts.known.get(contexts.spec(i)));
    REQUIRE(contexts.known.size() <= 4 * kRecentModules);
  }
  CHECK(living(all) == kRecentModules);
  CHECK(living({all.end() - kRecentModules, all.end()}) == kRecentModules);
  CHECK(contexts.known.get(contexts.spec(1)) == used);
  CHECK(contexts.known.get(contexts.spec(0)) == contexts.known.kept().front());
}

TEST_CASE("what is asked for again and again stays, whatever else is") {
  Contexts contexts;
  const std::weak_ptr<SchemaModule> often = contexts.known.get(contexts.spec(0));
  for (std::size_t i = 1; i < kMany; ++i) {
    contexts.known.get(contexts.spec(i));
    if (i % (kRecentModules / 2) == 0) contexts.known.get(contexts.spec(0));
  }
  CHECK_FALSE(often.expired());
}

TEST_CASE("the latest may hold back so many bytes, and what is larger than that is not held") {
  // Its four tokens twice: one of the turn, three of the module.
  const std::uint64_t bytes = 4 * 2 * sizeof(TokenId);
  Contexts three(3 * bytes + 1), none(bytes - 1);
  std::vector<std::weak_ptr<SchemaModule>> of_three, of_none;
  for (std::size_t i = 0; i < 10; ++i) {
    of_three.push_back(three.known.get(three.spec(i)));
    of_none.push_back(none.known.get(none.spec(i)));
  }
  CHECK(living(of_three) == 3);
  CHECK(living({of_three.end() - 3, of_three.end()}) == 3);
  CHECK(living(of_none) == 0);
}

TEST_CASE("many threads that ask for the same modules get the same, complete ones") {
  Contexts contexts;
  constexpr std::size_t kThreads = 6, kEach = 700;  // more than are remembered
  std::vector<std::vector<ModulePtr>> got(kThreads, std::vector<ModulePtr>(kEach));
  std::atomic<int> incomplete{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < kEach; ++i) {
        const std::size_t at = (i * 101 + t * 37) % kEach;
        got[t][at] = contexts.known.get(contexts.spec(at));
        const SchemaModule& module = *got[t][at];
        if (module.job.runs.size() != 2 || module.identity.runs.size() != 2) ++incomplete;
        contexts.known.get(contexts.spec(kEach + i % 50));  // comes and goes
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(incomplete == 0);
  for (std::size_t t = 1; t < kThreads; ++t) CHECK(got[t] == got[0]);
}

TEST_CASE("while a module's job is being made, others are to be had, and it is waited for") {
  Contexts contexts;
  const ModulePtr slow = contexts.known.get(contexts.spec(0));
  std::unique_lock making(slow->making);
  auto same = std::async(std::launch::async, [&] { return contexts.known.get(contexts.spec(0)); });
  CHECK(same.wait_for(100ms) == std::future_status::timeout);
  auto other = std::async(std::launch::async, [&] { return contexts.known.get(contexts.spec(1)); });
  CHECK(other.wait_for(20s) == std::future_status::ready);
  making.unlock();
  CHECK(same.get() == slow);
}

constexpr const char* kSchema = R"(<schema name="s">Be short.
  <module name="a">one</module><module name="b">two</module><module name="c">three</module>
  <module name="d">four</module><module name="e">five</module><module name="f">six</module>
  <scaffold name="all" modules="a b c d e f"/></schema>)";

std::shared_ptr<LoadedSchema> schema_of(const TinyCheckpoint& checkpoint, std::uint64_t budget,
                                        const std::string& cache = "") {
  EngineOptions o;
  o.model_path = checkpoint.path();
  o.cache_dir = cache;
  o.cache_mode = cache.empty() ? CacheMode::kOff : CacheMode::kReadWrite;
  o.cache_bytes = budget;
  o.n_threads = 1;
  return must(LoadedSchema::parse(must(Engine::open(o)), kSchema, ""));
}

std::shared_ptr<const LoadedPrompt> prompt_of(const std::shared_ptr<LoadedSchema>& schema,
                                              const std::string& order) {
  std::string imports;
  for (const char name : order) imports += std::string("<") + name + "/>";
  return must(LoadedPrompt::parse(schema, "<prompt schema='s'>" + imports + "Now?</prompt>"));
}

ModulePtr scaffold_of(const LoadedSchema::Modules& modules) {
  const auto at = std::ranges::find_if(modules, [](const auto& m) { return m->job.scaffold; });
  REQUIRE(at != modules.end());
  return *at;
}

std::unique_ptr<Session> prefilled(const std::shared_ptr<const LoadedPrompt>& prompt) {
  std::unique_ptr<Session> session = must(Session::open(prompt, {}));
  must(session->prefill());
  return session;
}

TEST_CASE("every order of a scaffold is asked for: states are pinned while they are used") {
  const TinyCheckpoint checkpoint(31);
  const TempFolder cache;
  for (const std::string& dir : {std::string(), cache.path()}) {
    const auto schema = schema_of(checkpoint, 8ull << 30, dir);
    const auto used = prompt_of(schema, "fedcba");
    const auto session = prefilled(used);
    auto dropped = prompt_of(schema, "fedcab");
    prefilled(dropped).reset();
    const ModulePtr kept = scaffold_of(schema->modules());
    const ModulePtr in_use = scaffold_of(used->modules);
    REQUIRE(in_use != scaffold_of(dropped->modules));
    REQUIRE(in_use != kept);
    std::vector<std::weak_ptr<const ModuleFile>> pinned = {in_use->handle,
                                                           scaffold_of(dropped->modules)->handle};
    REQUIRE_FALSE(pinned[0].expired());
    dropped.reset();
    REQUIRE_FALSE(pinned[1].expired());  // the engine holds it, for the next prompt like it
    CHECK(prefilled(prompt_of(schema, "fedcab"))->stats().modules_encoded == 0);

    std::string order = "abcdef";
    std::vector<std::weak_ptr<SchemaModule>> scaffolds;
    do {
      scaffolds.push_back(scaffold_of(prompt_of(schema, order)->modules));
    } while (std::next_permutation(order.begin(), order.end()));
    REQUIRE(scaffolds.size() == 720);
    CHECK(living(scaffolds) <= kRecentModules + 2);  // and the one in use, and the schema's own
    CHECK_FALSE(pinned[0].expired());
    CHECK(prompt_of(schema, "fedcba")->modules == used->modules);
    CHECK(scaffold_of(prompt_of(schema, "abcdef")->modules) == kept);
  }
}

TEST_CASE("states of nobody's modules are held within the budget, whatever schemas live") {
  const TinyCheckpoint checkpoint(32);
  const TempFolder cache;
  for (const std::string& dir : {std::string(), cache.path()}) {
    INFO((dir.empty() ? "no store" : "a store"));
    const std::uint64_t one = [&] {
      const auto schema = schema_of(checkpoint, 8ull << 30);
      return stored_size(schema->modules().back()->identity).bytes;
    }();
    // Room for the largest module of two prompts, and of no more.
    const std::uint64_t room = 2 * one + one / 2;
    const auto schema = schema_of(checkpoint, dir.empty() ? room : 8 * room, dir);
    const HeldModules& held = schema->engine().held();
    std::string order = "abcdef";
    std::vector<std::weak_ptr<const ModuleFile>> used;
    for (int i = 0; i < 12; ++i) {
      const auto prompt = prompt_of(schema, order);
      const auto session = prefilled(prompt);
      used.push_back(scaffold_of(prompt->modules)->handle);
      CHECK_FALSE(used.back().expired());
      CHECK(held.bytes() <= room);
      std::next_permutation(order.begin(), order.end());
    }
    CHECK(held.bytes() > 0);
    CHECK(used.front().expired());  // although the schema's own order
    CHECK_FALSE(used.back().expired());
    // What went comes again: encoded, or found.
    const auto again = prefilled(prompt_of(schema, "abcdef"));
    CHECK((again->stats().modules_encoded > 0) == dir.empty());
  }
}

TEST_CASE("a module that is larger than all may be is refused before any work") {
  const TinyCheckpoint checkpoint(32);
  const TempFolder cache;
  for (const std::string& dir : {std::string(), cache.path()}) {
    const auto schema = schema_of(checkpoint, 1000, dir);
    const Status encoded =
        schema->encode(schema->modules(), [](auto, auto&, auto&) { return true; });
    REQUIRE_FALSE(encoded.ok());
    CHECK(encoded.error().code == Code::kBudget);
    CHECK(encoded.error().message.find("1000") != std::string::npos);
    const auto prompt = prompt_of(schema, "a");
    const auto session = Session::open(prompt, {});
    REQUIRE_FALSE(session.ok());
    CHECK(session.error().code == Code::kBudget);
    SessionOptions o;
    o.no_reuse = true;
    must(must(Session::open(prompt, o))->prefill());
  }
}

TEST_CASE("two prompts of one shape at once: one encodes, the other waits for it") {
  const TinyCheckpoint checkpoint(33);
  const auto schema = schema_of(checkpoint, 8ull << 30);
  must(schema->encode(schema->modules(), [](auto, auto&, auto&) { return true; }));
  std::atomic<std::uint32_t> encoded{0};
  const auto first = prompt_of(schema, "fedcba"), second = prompt_of(schema, "fedcba");
  REQUIRE(first->modules == second->modules);
  std::vector<std::thread> threads;
  for (const auto& prompt : {first, second})
    threads.emplace_back([&, prompt] { encoded += prefilled(prompt)->stats().modules_encoded; });
  for (std::thread& thread : threads) thread.join();
  CHECK(encoded == 1);
}

}  // namespace
}  // namespace pc::test
