// Which tokens a repair computes anew, each choice against one made here from what it is about; and
// that reports say what a session does.
#include "runtime/prompt/repair.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <numeric>
#include <string>
#include <thread>

#include "runtime/json/json.h"
#include "runtime/reports/counts.h"
#include "runtime/reports/reports.h"
#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

using Kind = pml::Repair::Kind;

constexpr const char* kModules = R"(Start here.
  <module name="a">The tram of Oslo costs four euros and goes to the park.</module>
  <module name="b">The bus of Rome is late <param name="by" len="6"/> and nobody knows why.
    <module name="c">Its metro is not.</module></module>
  <module name="d">A ferry leaves at seven.</module>)";
constexpr const char* kImports =
    R"(<a/><b by="an hour"><c/></b><d/>What does the tram of Oslo cost?)";

class Fixture {
 public:
  explicit Fixture(const std::string& repair = "none", Precision precision = Precision::kFast) {
    EngineOptions o;
    o.precision = precision;
    o.model_path = checkpoint_.path();
    o.cache_dir = cache_.path();
    o.kv_type = KvType::kF32;
    o.n_threads = 2;
    engine = must(Engine::open(o));
    schema = must(LoadedSchema::parse(
        engine, "<schema name='s' repair='" + repair + "'>" + kModules + "</schema>", ""));
    prompt = must(
        LoadedPrompt::parse(schema, std::string("<prompt schema='s'>") + kImports + "</prompt>"));
    runs = prompt->placed_runs();
    Encoder encoder(engine->scheduler(), engine->store());
    for (PlacedRun& run : runs) {
      if (!run.module) continue;
      auto acquired = must(schema->acquire(*prompt->modules[run.run->job], encoder, nullptr));
      run.resident = must(engine->backend().resident(std::move(acquired.module)));
    }
  }

  // The runs, repaired like this.
  std::vector<PlacedRun> repaired(const pml::Repair& repair) const {
    std::vector<PlacedRun> all = runs;
    for (PlacedRun& run : all) run.repair = repair;
    return all;
  }
  std::vector<Anew> choose(Kind kind, double share) const {
    const BackendTimeline timeline = must(engine->backend().timeline());
    return must(choose_anew(repaired({kind, 0, share}), {timeline}, engine->scheduler(), nullptr));
  }
  static pc_run fresh(const PlacedRun& r) {
    return {r.run->tokens.data(),
            static_cast<std::uint32_t>(r.run->tokens.size()),
            r.position,
            r.position,
            1,
            nullptr,
            nullptr,
            0,
            nullptr};
  }
  static void attach(BackendTimeline& timeline, const PlacedRun& r) {
    const auto n = static_cast<std::uint32_t>(r.run->tokens.size());
    must(timeline.attach(r.resident, {r.run->job_run, 0, n, r.position, nullptr}));
  }

  std::shared_ptr<const Engine> engine;
  std::shared_ptr<LoadedSchema> schema;
  std::shared_ptr<const LoadedPrompt> prompt;
  std::vector<PlacedRun> runs;

 private:
  TinyCheckpoint checkpoint_{19};
  TempFolder cache_;
};

// Of the tokens of runs that are not exact, the share with the largest sizes. [runs][tokens]
template <class Size>
std::vector<Anew> largest(const std::vector<PlacedRun>& runs,
                          const std::vector<std::vector<Size>>& sizes, double share) {
  std::vector<Size> all;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (!runs[i].exact) all.insert(all.end(), sizes[i].begin(), sizes[i].end());
  std::ranges::sort(all, std::greater<>());
  const Size least = all[selected_tokens(share, all.size()) - 1];
  std::vector<Anew> anew(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (std::uint32_t t = 0; t < sizes[i].size() && !runs[i].exact; ++t)
      if (sizes[i][t] >= least) anew[i].push_back(t);
  return anew;
}

TEST_CASE("leading tokens are those of each module that is not exact") {
  const Fixture f;
  for (const std::uint32_t n : {2u, 7u, 1000u}) {
    const std::vector<Anew> anew = leading_tokens(f.repaired({Kind::kLeading, n, 0.0}));
    std::uint32_t left_of_b = n;
    for (std::size_t i = 0; i < f.runs.size(); ++i) {
      const std::string& label = f.runs[i].run->label;
      const auto size = static_cast<std::uint32_t>(f.runs[i].run->tokens.size());
      INFO(label << " of " << size << " tokens, " << n);
      CHECK(f.runs[i].exact == (!f.runs[i].module || label.empty() || label == "a"));
      std::uint32_t want = f.runs[i].exact ? 0 : std::min(n, size);
      if (label == "b") {  // the argument cuts it
        want = std::min(left_of_b, size);
        left_of_b -= want;
      }
      Anew first(want);
      std::iota(first.begin(), first.end(), 0u);
      CHECK(anew[i] == first);
    }
  }
}

// How much attention the fresh text pays to each token of the modules, one behind the other.
std::vector<std::uint64_t> attention_of(const Fixture& f) {
  BackendTimeline timeline = must(f.engine->backend().timeline());
  std::vector<pc_run> fresh;
  std::vector<std::uint64_t> weights;
  for (const PlacedRun& r : f.runs) {
    if (r.resident) {
      Fixture::attach(timeline, r);
      weights.resize(weights.size() + r.run->tokens.size());
    } else {
      fresh.push_back(Fixture::fresh(r));
    }
  }
  must(f.engine->scheduler().compute(
      {.timeline = &timeline, .runs = fresh, .weights = weights.data()}));
  return weights;
}

TEST_CASE("attended tokens are those to which the fresh text pays most attention") {
  const Fixture f;
  const std::vector<std::uint64_t> weights = attention_of(f);
  std::vector<std::vector<std::uint64_t>> sizes;
  auto next = weights.begin();
  for (const PlacedRun& r : f.runs) {
    const auto n = static_cast<std::ptrdiff_t>(r.resident ? r.run->tokens.size() : 0);
    sizes.emplace_back(next, next + n);
    next += n;
  }
  for (const double share : {0.1, 0.3, 1.0})
    CHECK(f.choose(Kind::kAttended, share) == largest(f.runs, sizes, share));
}

// Others who use the engine, until this goes: prefill and single tokens, again and again.
class Company {
 public:
  explicit Company(const Fixture& f) {
    for (int i = 0; i < 3; ++i) threads_.emplace_back([this, &f] { keep_busy(f); });
  }
  ~Company() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void keep_busy(const Fixture& f) const {
    const Tokens tokens(90, TokenId{5});
    while (!over_) {
      BackendTimeline timeline = must(f.engine->backend().timeline());
      const pc_run prompt{tokens.data(), 90, 0, 0, 1, nullptr, nullptr, 0, nullptr};
      must(f.engine->scheduler().compute({.timeline = &timeline, .runs = {&prompt, 1}}));
      for (Position at = 90; at < 120; ++at) {
        const pc_run next{tokens.data(), 1, at, at, 1, nullptr, nullptr, 0, nullptr};
        must(f.engine->scheduler().compute({.timeline = &timeline, .runs = {&next, 1}}));
      }
    }
  }

  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

TEST_CASE("in company the same tokens are attended as alone, where precision is deterministic") {
  const Fixture f("none", Precision::kDeterministic);
  const std::vector<std::uint64_t> weights = attention_of(f);
  std::vector<std::vector<Anew>> chosen;
  for (const double share : {0.1, 0.3}) chosen.push_back(f.choose(Kind::kAttended, share));
  const Company company(f);
  for (int round = 0; round < 30; ++round) {
    REQUIRE(attention_of(f) == weights);
    REQUIRE(f.choose(Kind::kAttended, 0.1) == chosen[0]);
    REQUIRE(f.choose(Kind::kAttended, 0.3) == chosen[1]);
  }
}

TEST_CASE("selected tokens are those whose values in the second layer change most in place") {
  const Fixture f;
  BackendTimeline timeline = must(f.engine->backend().timeline());
  std::vector<pc_run> computed;
  for (const PlacedRun& r : f.runs) {
    if (r.resident && r.exact)
      Fixture::attach(timeline, r);
    else
      computed.push_back(Fixture::fresh(r));
  }
  must(f.engine->scheduler().compute({.timeline = &timeline, .runs = computed}));  // all layers
  std::vector<std::vector<float>> sizes;
  std::uint32_t first = 0;
  for (const PlacedRun& r : f.runs) {
    const auto n = static_cast<std::uint32_t>(r.run->tokens.size());
    sizes.emplace_back(n);
    if (r.resident && r.exact) continue;
    if (!r.exact) must(timeline.compare(first, *r.resident, r.run->job_run, 1, sizes.back()));
    first += n;
  }
  for (const double share : {0.1, 0.3, 1.0})
    CHECK(f.choose(Kind::kSelected, share) == largest(f.runs, sizes, share));
}

TEST_CASE("explain and counts say how many tokens a session then computes anew") {
  for (const char* repair : {"none", "leading:3", "attended:20%", "selected:20%"}) {
    INFO(repair);
    const Fixture f(repair);
    const auto session = must(Session::open(f.prompt, {}));
    must(session->prefill());
    const SessionStats& stats = session->stats();
    CHECK(stats.prompt_tokens == f.prompt->plan.n_tokens());
    CHECK(stats.cached_tokens + stats.computed_tokens == stats.prompt_tokens);
    CHECK((stats.repaired_tokens > 0) == (std::string(repair) != "none"));
    CHECK(count_prompt(*f.prompt).repaired_tokens == stats.repaired_tokens);
    const auto explained = must(JsonDocument::parse(explain_prompt(*f.prompt), "explain"));
    const auto number = [&](const char* key) {
      return static_cast<std::uint64_t>(must(explained.root().member(key)->integer()));
    };
    CHECK(number("repaired_tokens") == stats.repaired_tokens);
    CHECK(number("computed_tokens") == stats.computed_tokens);
    CHECK(number("cached_tokens") == stats.cached_tokens);
  }
}

TEST_CASE("a share of so many tokens is that many, and never none") {
  CHECK(selected_tokens(0.07, 100) == 7);
  CHECK(selected_tokens(0.28, 100) == 28);
  CHECK(selected_tokens(0.01, 10) == 1);
  CHECK(selected_tokens(1e-15, 10) == 1);
  CHECK(selected_tokens(1.0, 33) == 33);
  CHECK(selected_tokens(0.5, 0) == 0);
}

}  // namespace
}  // namespace pc::test
