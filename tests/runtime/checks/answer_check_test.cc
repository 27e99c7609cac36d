// A check of answers says what sessions do: its figures against answers drawn here, one by one; and
// what it chose is what repair="auto" then does.
#include "runtime/checks/answer_check.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "runtime/checks/answer_content.h"
#include "runtime/checks/answer_probes.h"
#include "runtime/reports/counts.h"
#include "runtime/reports/reports.h"
#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_chat.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

using Prompt = std::shared_ptr<const LoadedPrompt>;

constexpr const char* kModules = R"(Start here.
  <module name="a">The tram of Oslo costs four euros and goes to the park every day.</module>
  <module name="b">The bus of Rome is late and nobody knows why it is so.
    <module name="c">Its metro is not late, as far as one can see from the street.</module></module>
  <union><module name="d">A ferry leaves at seven from the old harbour in the north.</module>
    <module name="e">A train leaves at nine from the new station in the south.</module></union>)";
constexpr std::uint32_t kAnswer = 6;

class Fixture {
 public:
  explicit Fixture(KvType type = KvType::kF32, CacheMode mode = CacheMode::kReadWrite,
                   std::uint32_t context = 0) {
    options_.model_path = checkpoint_.path();
    options_.cache_dir = cache_.path();
    options_.cache_mode = mode;
    options_.kv_type = type;
    options_.n_threads = 2;
    options_.context_tokens = context;
    engine = must(Engine::open(options_));
    schema = parse(engine, "s");
  }
  static std::shared_ptr<LoadedSchema> parse(const std::shared_ptr<const Engine>& engine,
                                             const std::string& name,
                                             const std::string& attributes = "repair='auto'") {
    return must(LoadedSchema::parse(
        engine, "<schema name='" + name + "' " + attributes + ">" + kModules + "</schema>", ""));
  }
  // Another engine on the same model and store.
  std::shared_ptr<const Engine> again(KvType type) const {
    EngineOptions options = options_;
    options.kv_type = type;
    return must(Engine::open(options));
  }
  static Prompt prompt(const std::shared_ptr<LoadedSchema>& schema, const std::string& text) {
    return must(LoadedPrompt::parse(
        schema, "<prompt schema='" + schema->layout().schema + "'>" + text + "</prompt>"));
  }
  std::vector<Prompt> prompts() const {
    return {prompt(schema, "<a/><b><c/></b>What is late?"), prompt(schema, "<d/><a/>When?"),
            prompt(schema, "<b/><e/><a/>How much?"), prompt(schema, "<a/>Which park?")};
  }

  std::shared_ptr<const Engine> engine;
  std::shared_ptr<LoadedSchema> schema;

 private:
  TinyCheckpoint checkpoint_{23};
  TempFolder cache_;
  EngineOptions options_;
};

Tokens greedy(const Prompt& prompt, const SessionOptions& options, SessionStats* stats) {
  const auto session = must(Session::open(prompt, options));
  Tokens tokens;
  while (const auto token = must(session->next())) tokens.push_back(*token);
  *stats = session->stats();
  return tokens;
}

// Natural logarithms of probabilities.
std::vector<double> log_probs(std::span<const float> logits) {
  double sum = 0;
  for (const float x : logits) sum += std::exp(double{x});
  std::vector<double> all;
  for (const float x : logits) all.push_back(x - std::log(sum));
  return all;
}

// What a way would draw behind each beginning of an answer, each prompt computed anew with it.
struct Step {
  TokenId likeliest;
  std::vector<double> log_probs;
};
std::vector<Step> steps_behind(const Prompt& prompt, SessionOptions options, const Tokens& answer) {
  std::vector<Step> steps;
  for (std::size_t n = 0; n < answer.size(); ++n) {
    const auto session = must(Session::open(prompt, options));
    must(session->prefill());
    if (n > 0) must(session->append_tokens(std::span(answer).first(n)));
    steps.push_back({must(session->next()).value(), log_probs(session->logits())});
  }
  return steps;
}

AnswerCheck check(const std::vector<Prompt>& prompts) {
  return must(
      check_answers(prompts, prompts.front()->schema->in_slots(), {.answer_tokens = kAnswer}));
}

std::string text_of(const Engine& engine, const Tokens& tokens) {
  std::string text;
  for (const TokenId token : tokens) engine.tokenizer().append_bytes(token, &text);
  return text;
}

// What the prompts of `Fixture::prompts` ask about.
AskedAbout about(const Prompt& prompt, const std::string& question) {
  AskedAbout about{question, {}};
  for (std::uint32_t m = 1; m < prompt->schema->layout().modules.size(); ++m)
    if (std::ranges::any_of(prompt->plan.runs, [&](const pml::PlanRun& run) {
          return run.label == prompt->schema->layout().modules[m].path;
        }))
      about.documents.push_back(prompt->schema->own_text(m));
  return about;
}

const AnswerWay& everything_anew(const AnswerCheck& check) {
  return *std::ranges::find(check.ways, kEverythingAnew,
                            [](const AnswerWay& way) { return way.way.repair; });
}

TEST_CASE("a way's figures are those of sessions that go on behind the full prefill's answer") {
  const Fixture f;
  const auto in_slots = f.schema->in_slots();
  REQUIRE(in_slots);
  const std::vector<std::string> questions = {"What is late?", "When?", "How much?"};
  const AnswerCheck checked = check(f.prompts());
  REQUIRE(checked.ways.size() == checked_ways(*f.engine).size());
  CHECK(checked.n_prompts == 4);
  CHECK(checked.n_exact == 1);  // a module behind the schema's text
  std::size_t n_not_kept = 0;
  for (const AnswerWay& way : checked.ways) {
    INFO(pml::to_string(way.way.repair) << (way.way.in_slots ? " in slots" : ""));
    double n_tokens = 0, same = 0, first = 0, answers = 0, kept = 0, anew = 0, modules = 0,
           divergence = 0;
    for (std::size_t p = 0; p < questions.size(); ++p) {
      const Prompt prompt = f.prompts()[p];
      SessionOptions options;
      SessionStats stats;
      options.max_tokens = kAnswer;
      options.no_reuse = true;
      const Tokens full = greedy(prompt, options, &stats);
      REQUIRE(full.size() == kAnswer);  // the tiny model does not end by itself
      const std::vector<Step> want = steps_behind(prompt, options, full);
      options.no_reuse = false;
      options.repair = way.way.repair;
      const Prompt asked =
          way.way.in_slots ? must(LoadedPrompt::of(in_slots, prompt->written)) : prompt;
      const std::vector<Step> got = steps_behind(asked, options, full);
      for (std::size_t i = 0; i < kAnswer; ++i) {
        same += got[i].likeliest == want[i].likeliest;
        for (std::size_t v = 0; v < want[i].log_probs.size(); ++v)
          divergence +=
              std::exp(want[i].log_probs[v]) * (want[i].log_probs[v] - got[i].log_probs[v]);
      }
      n_tokens += kAnswer;
      first += got.front().likeliest == want.front().likeliest;
      const Tokens drawn = greedy(asked, options, &stats);
      answers += drawn == full;
      kept += AnswerContent(text_of(*f.engine, full), about(prompt, questions[p]))
                  .is_in(text_of(*f.engine, drawn));
      anew += static_cast<double>(stats.repaired_tokens);
      modules += static_cast<double>(stats.repaired_tokens + stats.cached_tokens);
    }
    CHECK(way.same_tokens == Approx(same / n_tokens));
    CHECK(way.divergence == Approx(divergence / n_tokens).margin(1e-6));
    CHECK(way.same_first == Approx(first / 3));
    CHECK(way.same_answers == Approx(answers / 3));
    CHECK(way.kept == Approx(kept / 3));
    CHECK(way.anew == Approx(anew / modules));
    CHECK(way.passes == (way.way.repair == kEverythingAnew || way.kept >= kLeastKept));
    n_not_kept += way.kept < 1;
  }
  CHECK(n_not_kept > 0);  // or the prompts would show nothing
}

TEST_CASE("prompts that are exact do not water a verdict down") {
  const Fixture f;
  const Prompt bad = f.prompts().front(), exact = f.prompts().back();
  const AnswerCheck alone = check({bad}), among = check({exact, exact, bad, exact});
  CHECK(among.n_prompts == 4);
  CHECK(among.n_exact == 3);
  CHECK(among.n_tokens == alone.n_tokens);
  for (std::size_t i = 0; i < alone.ways.size(); ++i) {
    CHECK(among.ways[i].same_tokens == alone.ways[i].same_tokens);
    CHECK(among.ways[i].kept == alone.ways[i].kept);
    CHECK(among.ways[i].divergence == Approx(alone.ways[i].divergence).margin(1e-9));
    CHECK(among.ways[i].anew == alone.ways[i].anew);
  }
}

TEST_CASE("a module's own repair stays in a check, as it does with repair=auto") {
  const Fixture f;
  const auto schema = must(LoadedSchema::parse(
      f.engine,
      "<schema name='m' repair='auto'>Start. <module name='a'>One two three four five six."
      "</module><module name='b' repair='none'>Seven eight nine ten eleven.</module></schema>",
      ""));
  const Prompt prompt = Fixture::prompt(schema, "<a/><b/>And?");
  const AnswerCheck checked = check({prompt});
  const AnswerWay& all = everything_anew(checked);
  CHECK(all.anew == 0.0);
  schema->set_verdict(all.way.repair);
  const auto session = must(Session::open(prompt, {}));
  must(session->prefill());
  CHECK(session->stats().repaired_tokens == 0);
}

TEST_CASE("where everything is computed anew, an answer is the full prefill's") {
  const Fixture f;
  const AnswerCheck checked = check(f.prompts());
  const AnswerWay &none = checked.ways.front(), &all = everything_anew(checked);
  CHECK(all.same_tokens == 1.0);
  CHECK(all.kept == 1.0);
  CHECK(all.divergence < 1e-6);
  CHECK(all.first_divergence < 1e-6);
  CHECK(none.anew == 0.0);
  CHECK(none.first_divergence > 1e-4);  // or the prompts would show nothing
  CHECK(all.anew > 0.3);
}

TEST_CASE("what is chosen passes, in the schema's own layout and in slots") {
  const Fixture f;
  const AnswerCheck checked = check(f.prompts());
  const AnswerWay* const own = best_way(checked.ways, false);
  REQUIRE(own);
  CHECK(checked.chosen == own->way.repair);
  const AnswerWay* const slots = best_way(checked.ways, true);
  REQUIRE(checked.chosen_in_slots);
  CHECK(*checked.chosen_in_slots == (slots ? slots->way.repair : kEverythingAnew));
  CHECK(checked.slots_are_best == best_way(checked.ways, std::nullopt)->way.in_slots);
}

TEST_CASE("a schema that has slots, or no place for them, is checked as it stands") {
  const Fixture f;
  for (const char* const attributes : {"attend='slots'", "attend='schema'", "positions='schema'"}) {
    INFO(attributes);
    const auto schema = Fixture::parse(f.engine, "s", attributes);
    CHECK_FALSE(schema->in_slots());
    const AnswerCheck checked = check({Fixture::prompt(schema, "<d/><a/>When?")});
    CHECK(checked.says_something());
    CHECK_FALSE(checked.chosen_in_slots);
    CHECK(
        std::ranges::none_of(checked.ways, [](const AnswerWay& way) { return way.way.in_slots; }));
  }
}

TEST_CASE("stand-ins for which the window has no room leave the other ways to be checked") {
  const Fixture f(KvType::kF32, CacheMode::kReadWrite, 128);
  const auto schema = must(LoadedSchema::parse(
      f.engine,
      "<schema name='w'>Start. <module name='a'>" + std::string(90, 'x') +
          "</module><module name='b'>" + std::string(60, 'y') + "</module><module name='c'>" +
          std::string(20, 'z') + "</module></schema>",
      ""));
  REQUIRE(schema->in_slots());
  const AnswerCheck checked = check({Fixture::prompt(schema, "<c/><b/>")});
  CHECK(checked.says_something());
  CHECK_FALSE(checked.chosen_in_slots);
}

TEST_CASE("a verdict in slots is what auto does once the schema has them") {
  const Fixture f;
  const pml::Repair chosen = must(pml::parse_repair("attended:15%"));
  CHECK(f.schema->in_slots()->set_verdict(chosen));
  CHECK(must(Fixture::parse(f.engine, "s", "attend='slots'")->verdict()) == chosen);
  CHECK_FALSE(f.schema->verdict().ok());
}

TEST_CASE("prompts whose modules are exact decide nothing") {
  const Fixture f;
  CHECK_FALSE(check({Fixture::prompt(f.schema, "<a/>Which park?")}).says_something());
  CHECK(check({Fixture::prompt(f.schema, "<b/><a/>Which park?")}).says_something());
}

TEST_CASE("a check that is asked to stop stops, and one without prompts is none") {
  const Fixture f;
  const std::vector<Prompt> prompts = f.prompts();
  for (const std::size_t n_wanted : {1u, 2u, 12u, 25u}) {
    std::size_t n_told = 0;
    std::uint32_t n_done = 0;
    const auto stopped = check_answers(
        prompts, f.schema->in_slots(),
        {.answer_tokens = 2, .progress = [&](std::uint32_t done, std::uint32_t total) {
           CHECK(total == prompts.size());
           CHECK(done >= n_done);
           n_done = done;
           return ++n_told < n_wanted;
         }});
    REQUIRE_FALSE(stopped.ok());
    CHECK(stopped.error().code == Code::kCancelled);
    CHECK(n_told == n_wanted);
  }
  expect_error(check_answers({}, nullptr, {}), Code::kInvalidArgument, 0, 0, "prompt");
  for (const std::uint32_t n : {0u, kMostAnswerTokens + 1, UINT32_MAX})
    expect_error(check_answers(prompts, nullptr, {.answer_tokens = n}), Code::kInvalidArgument, 0,
                 0, "1 to 256");
}

TEST_CASE("a prompt that leaves no room for an answer is named before anything is computed") {
  const Fixture f(KvType::kF32, CacheMode::kReadWrite, 128);
  std::vector<Prompt> prompts = f.prompts();
  bool told = false;
  const auto refused = check_answers(
      prompts, nullptr, {.answer_tokens = 120, .progress = [&](std::uint32_t, std::uint32_t) {
                           return told = true;
                         }});
  expect_error(refused, Code::kContextFull, 0, 0, "prompt 1 of 4: ");
  CHECK_FALSE(told);
}

TEST_CASE("repair=auto does what was chosen, for the schema, the model and the states it was for") {
  const Fixture f;
  const Prompt prompt = f.prompts().front();
  {
    const auto session = must(Session::open(prompt, {}));
    expect_error(session->prefill(), Code::kNotFound, 0, 0, "check --answers");
    CHECK(session->stats().modules_encoded == 0);
    CHECK(explain_prompt(*prompt).find("check --answers") != std::string::npos);
    CHECK(count_prompt(*prompt).repaired_tokens == 0);
  }
  const pml::Repair chosen = must(pml::parse_repair("leading:3"));
  CHECK(f.schema->set_verdict(chosen));
  const auto repaired = [](const Prompt& asked, const std::optional<pml::Repair>& repair) {
    SessionOptions options;
    options.repair = repair;
    const auto session = must(Session::open(asked, options));
    must(session->prefill());
    return session->stats().repaired_tokens;
  };
  const std::uint64_t want = repaired(prompt, chosen);
  CHECK(want > 0);
  CHECK(repaired(prompt, std::nullopt) == want);
  CHECK(count_prompt(*prompt).repaired_tokens == want);
  CHECK(explain_prompt(*prompt).find("check --answers") == std::string::npos);
  const auto on = [&](const std::shared_ptr<LoadedSchema>& schema) {
    return Fixture::prompt(schema, "<a/><b><c/></b>What is late?");
  };
  CHECK(repaired(on(Fixture::parse(f.again(KvType::kF32), "s")), std::nullopt) == want);
  const auto plain = Fixture::parse(f.engine, "s", "");  // the session asks for auto
  CHECK(repaired(on(plain), std::nullopt) == 0);
  CHECK(repaired(on(plain), must(pml::parse_repair("auto"))) == want);
  CHECK_FALSE(Fixture::parse(f.engine, "t")->verdict().ok());
  CHECK_FALSE(Fixture::parse(f.engine, "s", "attend='self'")->verdict().ok());
  CHECK_FALSE(Fixture::parse(f.again(KvType::kBf16), "s")->verdict().ok());
}

TEST_CASE("without a store a verdict lives with its schema") {
  const Fixture f(KvType::kF32, CacheMode::kOff);
  CHECK_FALSE(f.schema->set_verdict(must(pml::parse_repair("all"))));
  CHECK(f.schema->verdict().ok());
  CHECK_FALSE(Fixture::parse(f.engine, "s")->verdict().ok());
}

TEST_CASE("a module's own repair goes before the schema's, a prompt's before both") {
  const Fixture f;
  const auto schema = must(LoadedSchema::parse(
      f.engine,
      "<schema name='m' repair='leading:2'>Start. <module name='a' repair='none'>One two three "
      "four five.</module><module name='b'>Six seven eight nine.</module><module name='c' "
      "repair='all'>Ten eleven twelve.</module></schema>",
      ""));
  const auto anew = [&](const std::string& attribute) {
    const auto prompt = must(LoadedPrompt::parse(
        schema, "<prompt schema='m'" + attribute + "><b/><a/><c/>And?</prompt>"));
    const auto runs = prompt->placed_runs();
    const std::vector<Anew> tokens = leading_tokens(runs);
    std::vector<std::size_t> n;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (!runs[i].exact) n.push_back(tokens[i].size());
    REQUIRE(n.size() == 2);  // b stands first
    CHECK(must(Session::open(prompt, {}))->prefill().ok());
    return std::pair(n, runs.at(3).run->tokens.size());
  };
  const auto [own, n_c] = anew("");
  CHECK(own == std::vector<std::size_t>{0, n_c});
  CHECK(anew(" repair='leading:2'").first == std::vector<std::size_t>{2, 2});
  CHECK(anew(" repair='none'").first == std::vector<std::size_t>{0, 0});
}

TEST_CASE("modules of one prompt are repaired in several ways, each by its own") {
  const Fixture f;
  const auto schema = must(LoadedSchema::parse(
      f.engine,
      "<schema name='m'>Start. <module name='a'>Zero.</module><module name='b' "
      "repair='selected:50%'>One two three four.</module><module name='c' "
      "repair='attended:25%'>Five "
      "six seven eight nine.</module><module name='d' repair='leading:2'>Ten eleven.</module>"
      "<module name='e' repair='selected:50%'>Twelve thirteen.</module></schema>",
      ""));
  const Prompt prompt = Fixture::prompt(schema, "<a/><b/><c/><d/><e/>And?");
  std::uint64_t n_selected = 0, want = 2;
  for (const PlacedRun& run : prompt->placed_runs()) {
    if (run.exact) continue;
    const std::uint64_t n = run.run->tokens.size();
    if (run.run->label == "c") want += selected_tokens(0.25, n);
    if (run.run->label == "b" || run.run->label == "e") n_selected += n;
  }
  want += selected_tokens(0.5, n_selected);
  const auto session = must(Session::open(prompt, {}));
  must(session->prefill());
  CHECK(session->stats().repaired_tokens == want);
  CHECK(count_prompt(*prompt).repaired_tokens == want);
}

TEST_CASE("made prompts import modules that can stand together, each time the same") {
  const Fixture f;
  const auto probes = must(make_probes(f.schema, 40));
  const auto again = must(make_probes(f.schema, 40));
  std::size_t n_orders = 0;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    REQUIRE(probes[i]->plan.runs.size() == again[i]->plan.runs.size());
    for (std::size_t r = 0; r < probes[i]->plan.runs.size(); ++r)
      CHECK(probes[i]->plan.runs[r].tokens == again[i]->plan.runs[r].tokens);
    std::vector<std::string> labels;
    for (const pml::PlanRun& run : probes[i]->plan.runs)
      if (run.kind == pml::RunKind::kCached && !run.label.empty() &&
          std::ranges::count(labels, run.label) == 0)
        labels.push_back(run.label);
    CHECK(labels.size() >= 2);
    CHECK(labels.size() <= 5);  // four, one of them in another
    CHECK(std::ranges::count(labels, "d") + std::ranges::count(labels, "e") <= 1);
    n_orders += !std::ranges::is_sorted(labels);
    std::string text;
    for (const TokenId token : probes[i]->plan.runs.back().tokens)
      f.engine->tokenizer().append_bytes(token, &text);
    CHECK(text.find('"') != std::string::npos);
  }
  CHECK(n_orders > 5);
  CHECK(must(check_answers(probes, nullptr, {.answer_tokens = 1})).says_something());
}

TEST_CASE("modules that hold turns are imported in front of the question's turn") {
  const TinyCheckpoint checkpoint(31);
  write_chat_template(checkpoint, chat_turns());
  EngineOptions options;
  options.model_path = checkpoint.path();
  options.cache_mode = CacheMode::kOff;
  const auto engine = must(Engine::open(options));
  const auto schema = must(LoadedSchema::parse(
      engine,
      "<schema name='few'><module name='a'><user>Where is Oslo?</user><assistant>It is in "
      "Norway.</assistant></module><module name='b'><user>Where is Rome?</user><assistant>It is "
      "in Italy.</assistant></module></schema>",
      ""));
  for (const auto& probe : must(make_probes(schema, 8))) {
    CHECK(probe->modules.size() >= 2);
    CHECK(probe->plan.chat);
  }
}

TEST_CASE("a schema with one module gives no prompts, and says so") {
  const Fixture f;
  const auto schema = must(LoadedSchema::parse(
      f.engine,
      "<schema name='one'><module name='a'>A module that stands alone here.</module></schema>",
      ""));
  expect_error(make_probes(schema, 3), Code::kInvalidArgument, 0, 0, "give prompts");
}

}  // namespace
}  // namespace pc::test
