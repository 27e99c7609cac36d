// Modules on pretrained checkpoints: right behind the prefix, moved, scaffolded, and with
// states in 8 bits, against the full prefill of the same tokens.

#include <algorithm>

#include "runtime/backend/cpu_backend.h"
#include "runtime/schema/loaded_schema.h"
#include "runtime/session/session.h"
#include "tests/support/plan_runner.h"
#include "tests/support/real_models.h"
#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

// f32 through all layers, sums in another order (runtime/cpu/attention/attention.h merges
// segments): 2^-24 a rounding, times 10^3, by which large activations of trained models exceed the
// others.
constexpr double kRounding = 1e-4;

double apart(const std::vector<float>& a, const std::vector<float>& b) {
  double square = 0, whole = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    square += std::pow(double{a[i]} - b[i], 2);
    whole += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(square / whole);
}

using Tokens = std::vector<std::int32_t>;

Tokens part(const RealPrompt& prompt, std::size_t first, std::size_t n) {
  const auto begin = prompt.tokens.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(n)};
}

std::int32_t size(const Tokens& tokens) {
  return static_cast<std::int32_t>(tokens.size());
}

// A prompt of 300 or, past Gemma's windows of 512, of 800 tokens in three parts and a rest.
struct Parts {
  Tokens prefix, one, two, text, all;

  Parts(const RealReference& reference, std::size_t each) {
    const RealPrompt& p = reference.prompt("everything");
    prefix = part(p, 0, 50);
    one = part(p, 50, each);
    two = part(p, 50 + each, each);
    text = part(p, 50 + 2 * each, 50);
    all = part(p, 0, 100 + 2 * each);
  }
};

std::vector<float> prefill(PlanRunner& runner, const Tokens& tokens) {
  return runner.run({{}, {{-1, 0, tokens, 0}}})[0];
}

// The prefix's file, and `one two` encoded behind it and kept as two runs.
RawPlan scaffolded(const Parts& p) {
  const std::int32_t at = size(p.prefix), then = at + size(p.one), end = then + size(p.two);
  RawPlan plan;
  plan.jobs = {{{{p.prefix, 0, true}}},
               {{{p.prefix, 0, false}, {p.one, at, true}, {p.two, then, true}}}};
  plan.prompt = {{0, 0, {}, 0}, {1, 1, {}, at}, {1, 2, {}, then}, {-1, 0, p.text, end}};
  return plan;
}

RawPlan behind_prefix(const Parts& p) {
  Tokens both = p.one;
  both.insert(both.end(), p.two.begin(), p.two.end());
  const std::int32_t at = size(p.prefix);
  RawPlan plan;
  plan.jobs = {{{{p.prefix, 0, true}}}, {{{p.prefix, 0, false}, {both, at, true}}}};
  plan.prompt = {{0, 0, {}, 0}, {1, 1, {}, at}, {-1, 0, p.text, at + size(both)}};
  return plan;
}

TEST_CASE("a module behind its prefix, and a scaffold, are the full prefill") {
  for (const char* name : kRealModels) {
    const RealReference reference = real_reference(name);
    if (!reference.there()) continue;
    const auto model = must(load_model({.path = reference.path().string()}));
    PlanRunner runner(cpu_backend(), model->desc, KvType::kF32, 2, Precision::kExact);
    for (const std::size_t each : {100u, 350u}) {
      const Parts parts(reference, each);
      const auto full = prefill(runner, parts.all);
      const double module = apart(runner.run(behind_prefix(parts))[0], full);
      const double scaffold = apart(runner.run(scaffolded(parts))[0], full);
      std::printf("%-21s | %zu tokens | module %.1e, scaffold %.1e from the full prefill\n", name,
                  parts.all.size(), module, scaffold);
      CHECK(module <= kRounding);
      CHECK(scaffold <= kRounding);
    }
  }
}

// The module seen by nothing but itself: at `offset` from its file, or computed there.
TEST_CASE("one module's file at two offsets is the module encoded there") {
  for (const char* name : kRealModels) {
    const RealReference reference = real_reference(name);
    if (!reference.there()) continue;
    const auto model = must(load_model({.path = reference.path().string()}));
    PlanRunner runner(cpu_backend(), model->desc, KvType::kF32, 2, Precision::kExact);
    const Parts parts(reference, 200);
    for (const std::int32_t offset : {3, 1700}) {
      const std::int32_t end = offset + size(parts.one);
      const RawPlan moved{{{{{parts.one, 0, true}}}},
                          {{0, 0, {}, offset}, {-1, 0, parts.text, end}}};
      const RawPlan there{{}, {{-1, 0, parts.one, offset}, {-1, 0, parts.text, end}}};
      const double off = apart(runner.run(moved)[0], runner.run(there, true)[0]);
      std::printf("%-21s | at %4d | moved %.1e from encoded there\n", name, offset, off);
      CHECK(off <= kRounding);
    }
  }
}

TEST_CASE("rounded states move the logits no further than llama.cpp's do") {
  for (const char* name : kRealModels) {
    const RealReference reference = real_reference(name);
    if (!reference.there()) continue;
    const auto model = must(load_model({.path = reference.path().string()}));
    const Parts parts(reference, 100);
    PlanRunner exact(cpu_backend(), model->desc, KvType::kF32, 2, Precision::kExact);
    const auto want = prefill(exact, parts.all);
    // Errors of single prompts differ tenfold, so the bound is llama.cpp's largest.
    double largest = 0, largest_q8 = 0;
    for (const RealPrompt& p : reference.prompts) {
      largest = std::max(largest, p.llama);
      largest_q8 = std::max(largest_q8, p.llama_q8);
    }
    for (const KvType type : {KvType::kBf16, KvType::kQ8}) {
      PlanRunner runner(cpu_backend(), model->desc, type, 2, Precision::kExact);
      const double full = apart(prefill(runner, parts.all), want);
      const double module = apart(runner.run(behind_prefix(parts))[0], want);
      const double scaffold = apart(runner.run(scaffolded(parts))[0], want);
      std::printf("%-21s | %s states | prefill %.2e, module %.2e, scaffold %.2e from f32\n", name,
                  kv_type_name(type), full, module, scaffold);
      const double bound = type == KvType::kQ8 ? largest_q8 : largest;
      CHECK(std::max({full, module, scaffold}) <= bound);
    }
  }
}

std::vector<TokenId> answer(const std::shared_ptr<LoadedSchema>& schema, const std::string& prompt,
                            bool no_reuse, SessionStats* stats) {
  SessionOptions options;
  options.max_tokens = 16;
  options.no_reuse = no_reuse;
  const auto session = must(Session::open(must(LoadedPrompt::parse(schema, prompt)), options));
  std::vector<TokenId> tokens;
  while (const auto token = must(session->next())) tokens.push_back(*token);
  *stats = session->stats();
  return tokens;
}

TEST_CASE("through a schema: one module answers as the full prefill, stored and found again") {
  const std::string schema_text =
      R"(<schema name="s">A list of towns. <module name="m">Lisbon has trams, Kyoto has temples, )"
      R"(Vienna has coffee houses and Dublin has rain. </module></schema>)";
  const std::string prompt =
      R"(<prompt schema="s"><m/>The town with the temples is called</prompt>)";
  for (const char* name : kRealModels) {
    const RealReference reference = real_reference(name);
    if (!reference.there()) continue;
    const TempFolder cache;
    const auto schema = [&] {
      const RealEngine engine(reference, KvType::kF32, Precision::kExact, cache.path());
      return must(LoadedSchema::parse(engine.engine(), schema_text, ""));
    };
    SessionStats full, first, second;
    const auto want = answer(schema(), prompt, true, &full);
    CHECK(want.size() >= 2);
    CHECK(answer(schema(), prompt, false, &first) == want);
    CHECK(answer(schema(), prompt, false, &second) == want);
    CHECK(first.modules_encoded != 0);
    CHECK(second.modules_encoded == 0);
    CHECK(second.cached_tokens != 0);
  }
}

// Four modules of more than a step's tokens together, each of a few hundred bytes of its own.
std::string four_modules() {
  const char* towns[] = {"Lisbon", "Kyoto", "Vienna", "Dublin"};
  std::string modules;
  for (const char* town : towns) {
    modules += std::string("<module name='") + town + "' xml:space='preserve'>";
    for (int i = 0; i < 12; ++i)
      modules += std::string("In ") + town + " tram " + std::to_string(i * 7 + 3) +
                 " stops at the old market. ";
    modules += "</module>";
  }
  return modules;
}

std::vector<float> logits(const std::shared_ptr<LoadedSchema>& schema, bool no_reuse,
                          const char* repair) {
  SessionOptions options;
  options.no_reuse = no_reuse;
  options.repair = must(pml::parse_repair(repair));
  const auto prompt = must(LoadedPrompt::parse(
      schema, "<prompt schema='s'><Lisbon/><Kyoto/><Vienna/><Dublin/>Tram 17 stops in</prompt>"));
  const auto session = must(Session::open(prompt, options));
  must(session->prefill());
  const auto l = session->logits();
  return {l.begin(), l.end()};
}

TEST_CASE("through a schema: modules that saw all, or are computed anew, are the full prefill") {
  const std::string modules = four_modules();
  for (const char* name : kRealModels) {
    const RealReference reference = real_reference(name);
    if (!reference.there()) continue;
    const TempFolder cache;
    const RealEngine engine(reference, KvType::kF32, Precision::kExact, cache.path());
    const auto schema_with = [&](const char* scaffold) {
      const std::string text =
          "<schema name='s'>A list of trams. " + modules + scaffold + "</schema>";
      return must(LoadedSchema::parse(engine.engine(), text, ""));
    };
    const auto separate = schema_with(""),
               together = schema_with("<scaffold name='a' modules='Lisbon Kyoto Vienna Dublin'/>");
    const auto full = logits(separate, true, "none");
    CHECK(apart(logits(separate, false, "none"), full) > 100 * kRounding);
    CHECK(apart(logits(together, false, "none"), full) <= kRounding);
    CHECK(apart(logits(separate, false, "leading:100000"), full) <= kRounding);
    CHECK(apart(logits(separate, false, "selected:100%"), full) <= kRounding);
    // How far they stay when less is computed is no promise (bench/answers measures it).
    const double some = apart(logits(separate, false, "selected:20%"), full),
                 none = apart(logits(separate, false, "none"), full);
    std::printf("%-21s | four modules: %.1e from the full prefill, with a fifth anew %.1e\n", name,
                none, some);
  }
}

}  // namespace
}  // namespace pc::test
