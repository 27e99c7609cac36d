// Random schemas and prompts against the plain recursion of pml_oracle.h.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "pml/layout/binding.h"
#include "pml/layout/encode_cost.h"
#include "pml/layout/encode_plan.h"
#include "pml/layout/flat_prompt.h"
#include "pml/layout/layout_builder.h"
#include "pml/plan/plan_check.h"
#include "pml/plan/resolve.h"
#include "pml/syntax/prompt_parser.h"
#include "pml/syntax/schema_parser.h"
#include "tests/support/expect.h"
#include "tests/support/fake_tokenizer.h"
#include "tests/support/pml_oracle.h"
#include "tests/support/random_pml.h"

using namespace pc;
using namespace pc::pml;
using namespace pc::test;

namespace {

constexpr std::uint64_t kCases = 6000;

TextEncoder encoder_for(const FakeTokenizer& tokenizer, const RandomPml& pml) {
  TextEncoder encoder = tokenizer.encoder(bracket_chat(), pml.bos);
  encoder.chat->turns = [turns = encoder.chat->turns,
                         trims = pml.trims](std::span<const Role> roles) -> Result<TurnTexts> {
    auto texts = turns(roles);
    for (TurnText& turn : texts->turns) turn.trims_left = turn.trims_right = trims;
    return texts;
  };
  return encoder;
}

struct Case {
  explicit Case(std::uint64_t seed)
      : pml(seed),
        encoder(encoder_for(tokenizer, pml)),
        layout(must(lay_out(must(parse_schema(pml.schema(), pml.files())), encoder))) {}

  PmlOracle oracle() const { return oracle(pml.prompt_meaning); }
  PmlOracle oracle(const PmlTrees& prompt) const {
    return {{pml.schema_meaning, prompt, pml.positions, pml.attend, pml.bos, pml.trims,
             pml.scaffolds, pml.stand_ins},
            tokenizer};
  }
  Result<Plan> plan() const { return plan(pml.prompt()); }
  Result<Plan> plan(const std::string& prompt) const {
    return resolve(must(parse_prompt(prompt)), layout, encoder);
  }
  std::string show() const { return pml.schema() + "\n" + pml.prompt(); }

  FakeTokenizer tokenizer;
  RandomPml pml;
  TextEncoder encoder;
  Layout layout;
};

std::string name_of(const Case& c, const Plan& plan, const PlanRun& run) {
  return run.kind == RunKind::kCached ? make_job(c.layout, plan.jobs[run.job]).name : "";
}

std::vector<FlatToken> tokens_of(const Case& c, const Plan& plan) {
  const std::map<RunKind, char> kinds = {{RunKind::kCached, 'c'},
                                         {RunKind::kText, 't'},
                                         {RunKind::kArgument, 'a'},
                                         {RunKind::kRole, 'r'},
                                         {RunKind::kUncached, 'u'}};
  std::vector<FlatToken> all;
  for (const PlanRun& run : plan.runs)
    for (std::size_t i = 0; i < run.tokens.size(); ++i)
      all.push_back({run.tokens[i], run.position + static_cast<Position>(i), kinds.at(run.kind),
                     name_of(c, plan, run), run.moved});
  return all;
}

PassTokens tokens_of(const EncodeJob& job) {
  PassTokens all;
  for (const JobRun& run : job.runs)
    for (std::size_t i = 0; i < run.tokens.size(); ++i)
      all.push_back({run.tokens[i], run.position + static_cast<Position>(i), run.keep});
  return all;
}

std::string show(const FakeTokenizer& tokenizer, const std::vector<FlatToken>& tokens) {
  std::string out;
  for (const FlatToken& t : tokens)
    out += std::to_string(t.position) + t.kind + (t.moved ? "!" : "") + t.source + ":" +
           tokenizer.decode({t.token}) + (tokenizer.is_opening(t.token) ? "^|" : "|");
  return out;
}

std::string show(const FakeTokenizer& tokenizer, const PassTokens& tokens) {
  std::string out;
  for (const PassToken& t : tokens)
    out += std::to_string(t.position) + (t.keep ? "{" : "(") + tokenizer.decode({t.token}) +
           (tokenizer.is_opening(t.token) ? "^" : "") + (t.keep ? "}" : ")");
  return out;
}

// Each remark has one of the phrases that are due, and none is left.
void check_remarks(std::vector<std::string> due, const std::vector<std::string>& remarks) {
  for (const std::string& remark : remarks) {
    INFO(remark);
    const auto phrase = std::find_if(due.begin(), due.end(), [&](const std::string& p) {
      return remark.find(p) != remark.npos;
    });
    REQUIRE(phrase != due.end());
    due.erase(phrase);
  }
  for (const std::string& phrase : due) FAIL("no remark that says: " << phrase);
}

void check_jobs_of(const Case& c, const PmlOracle& oracle, const Plan& plan) {
  for (const JobSpec& spec : plan.jobs) {
    const EncodeJob job = make_job(c.layout, spec);
    INFO("job '" << job.name << "'");
    must(check_job(c.layout, job));
    REQUIRE(oracle.passes.count(job.name) == 1);
    CHECK(show(c.tokenizer, tokens_of(job)) == show(c.tokenizer, oracle.passes.at(job.name)));
  }
}

bool same(const Plan& a, const Plan& b) {
  return a.jobs == b.jobs && a.remarks == b.remarks && a.end == b.end && a.shift == b.shift &&
         std::equal(a.runs.begin(), a.runs.end(), b.runs.begin(), b.runs.end(),
                    [](const PlanRun& x, const PlanRun& y) {
                      return x.kind == y.kind && x.tokens == y.tokens && x.position == y.position &&
                             x.label == y.label && x.job == y.job && x.job_run == y.job_run &&
                             x.piece == y.piece && x.moved == y.moved;
                    });
}

void check_plan_of(const Case& c, const PmlOracle& oracle, const Plan& plan) {
  must(check_plan(c.layout, plan));
  CHECK(show(c.tokenizer, tokens_of(c, plan)) == show(c.tokenizer, oracle.tokens));
  check_jobs_of(c, oracle, plan);
  check_remarks(oracle.remarks, plan.remarks);
  CHECK(same(plan, must(c.plan())));
}

}  // namespace

TEST_CASE("random layouts and encode plans keep their invariants") {
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const Case c(seed);
    INFO("seed " << seed << "\n" << c.pml.schema());
    must(check_layout(c.layout));
    const std::vector<JobSpec> jobs = plan_encoding(c.layout);
    must(check_jobs(c.layout, make_jobs(c.layout, jobs)));
    CHECK(jobs == plan_encoding(c.layout));
  }
}

namespace {

// What of the documents the meaning no longer shows.
std::vector<std::string> written_shapes(const RandomPml& pml) {
  std::vector<std::string> shapes;
  const std::string schema = pml.schema(), prompt = pml.prompt();
  const auto note = [&](const char* shape, bool has) {
    if (has) shapes.push_back(shape);
  };
  note("module without a name", schema.find("<module>") != schema.npos);
  note("file", schema.find(" src=") != schema.npos);
  note("space preserved in the schema", schema.find("preserve") != schema.npos);
  note("space preserved in the prompt", prompt.find("preserve") != prompt.npos);
  note("space on one line", schema.find("> <module") != schema.npos);
  note("space over lines", schema.find(">\n  <module") != schema.npos);
  return shapes;
}

// Each of them in at least one of a hundred pairs: the generator must not go blind.
const std::vector<std::string> kShapes = {"compact prefix",
                                          "compact self",
                                          "compact schema",
                                          "schema prefix",
                                          "schema self",
                                          "schema schema",
                                          "import in a turn",
                                          "module in a turn",
                                          "scaffold serves",
                                          "scaffold in a turn",
                                          "order kept",
                                          "order kept in a turn",
                                          "imports reordered",
                                          "text in a schema's turn",
                                          "text in the schema's last turn",
                                          "text only",
                                          "several turns",
                                          "prompt's turn in a module",
                                          "schema's turn in a module",
                                          "schema's turn in a nested module",
                                          "examples in the schema",
                                          "empty turn",
                                          "prompt's system turn",
                                          "turn behind an import in a schema's turn",
                                          "turn behind a schema's turn with own text between",
                                          "turn around anonymous text",
                                          "turn around a module's own text",
                                          "text or turns between nested imports",
                                          "cache=false imported",
                                          "argument",
                                          "no argument",
                                          "union member imported",
                                          "opening",
                                          "a pass that a turn opens",
                                          "moved",
                                          "shift",
                                          "answer opened",
                                          "default member seen",
                                          "module without a name",
                                          "file",
                                          "space preserved in the schema",
                                          "space preserved in the prompt",
                                          "space on one line",
                                          "space over lines",
                                          "white space stripped in the schema",
                                          "white space stripped in the prompt"};

}  // namespace

TEST_CASE("random plans are what plain recursion says, or are refused for its reason") {
  std::map<std::string, std::uint64_t> n;  // of resolved pairs with each shape, and of refusals
  std::uint64_t n_resolved = 0;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const Case c(seed);
    INFO("seed " << seed << "\n" << c.show());
    const PmlOracle oracle = c.oracle();
    const auto plan = c.plan();
    if (oracle.refusal) {
      REQUIRE_FALSE(plan.ok());
      CHECK_THAT(plan.error().message, Catch::Matchers::Contains(*oracle.refusal));
      CHECK(plan.error().line > 0);
      ++n["refused: " + *oracle.refusal];
      continue;
    }
    ++n_resolved;
    for (const std::string& shape : oracle.shapes) ++n[shape];
    for (const std::string& shape : written_shapes(c.pml)) ++n[shape];
    check_plan_of(c, oracle, must(plan));
  }
  CHECK(n_resolved > kCases * 3 / 5);
  for (const std::string& shape : kShapes) {
    INFO(shape);
    CHECK(n[shape] >= n_resolved / 100);
  }
  for (const char* reason :
       {"keep that order", "would enclose the schema's", "would stand inside the schema's",
        "is imported twice", "its parameter has room for"}) {
    INFO(reason);
    CHECK(n[std::string("refused: ") + reason] > kCases / 500);
  }
}

namespace {

// Without what stands behind the last token that is kept.
Tokens up_to_kept(const PassTokens& pass) {
  Tokens tokens;
  for (const PassToken& token : pass) tokens.push_back(token.token);
  return tokens;
}

// Does the prompt's plan begin with exactly what the job saw and kept?
bool begins_with(const Plan& plan, const EncodeJob& job) {
  Tokens flat;
  for (const PlanRun& run : plan.runs)
    flat.insert(flat.end(), run.tokens.begin(), run.tokens.end());
  const Tokens pass = up_to_kept(tokens_of(job));
  return pass.size() <= flat.size() && std::equal(pass.begin(), pass.end(), flat.begin());
}

std::string imports(const std::vector<std::string>& paths, const std::string& around) {
  std::string out;
  for (const std::string& path : paths) {
    if (path.rfind(around, 0) != 0 || path.find('/', around.size()) != path.npos) continue;
    const std::string name = path.substr(around.size());
    out += "<" + name + ">" + imports(paths, path + "/") + "</" + name + ">";
  }
  return out;
}

std::vector<std::string> prompts_of(const std::vector<std::string>& paths) {
  const std::string all = imports(paths, ""), begin = "<prompt schema='s'>", end = "</prompt>";
  return {begin + all + end, begin + "<user>" + all + "</user>" + end};
}

}  // namespace

TEST_CASE("one module right behind what is always there, or in one turn, has seen the prefill") {
  std::size_t n_compared = 0, n_in_turn = 0;
  for (std::uint64_t seed = 0; seed < kCases / 2; ++seed) {
    const Case c(seed);
    if (c.layout.attend != Attend::kPrefix || c.pml.has_params())
      continue;  // fillers are not in it
    for (const Module& module : c.layout.modules) {
      if (!module.stored() || module.path.empty()) continue;
      std::vector<std::string> paths;
      for (std::size_t end = module.path.find('/'); end != module.path.npos;
           end = module.path.find('/', end + 1))
        paths.push_back(module.path.substr(0, end));
      paths.push_back(module.path);
      for (const std::string& prompt : prompts_of(paths)) {
        INFO("seed " << seed << "\n" << c.pml.schema() << "\n" << prompt);
        const auto plan = c.plan(prompt);
        if (!plan.ok()) continue;  // a turn within a turn
        for (const JobSpec& spec : plan->jobs) {
          const EncodeJob job = make_job(c.layout, spec);
          if (job.scaffold || job.name != module.path) continue;
          CHECK(begins_with(*plan, job));
          ++n_compared;
          n_in_turn += prompt.find("<user>") != prompt.npos;
        }
      }
    }
  }
  CHECK(n_compared > kCases / 10);
  CHECK(n_in_turn > kCases / 40);
}

TEST_CASE("a scaffold over all imports, alone or in one turn, has seen the prefill") {
  std::size_t n_compared = 0, n_in_turn = 0;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const Case c(seed);
    if (c.pml.has_params()) continue;
    for (std::size_t i = 0; i < c.pml.scaffolds.size(); ++i) {
      for (const std::string& prompt : prompts_of(c.pml.scaffolds[i])) {
        INFO("seed " << seed << "\n" << c.pml.schema() << "\n" << prompt);
        const auto plan = c.plan(prompt);
        if (!plan.ok()) continue;
        // The pass has a turn's end where it is written, also where it has moved.
        const auto moved = [](const PlanRun& run) { return run.moved; };
        if (std::any_of(plan->runs.begin(), plan->runs.end(), moved)) continue;
        for (const JobSpec& spec : plan->jobs) {
          if (!spec.scaffold) continue;
          CHECK(begins_with(*plan, make_job(c.layout, spec)));
          ++n_compared;
          n_in_turn += prompt.find("<user>") != prompt.npos;
        }
      }
    }
  }
  CHECK(n_compared > kCases / 20);
  CHECK(n_in_turn > kCases / 60);
}

TEST_CASE("modules together have seen the prefill, as far as no text of the prompt's is between") {
  std::size_t n_compared = 0;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const Case c(seed);
    if (c.pml.has_params()) continue;
    Layout bare = c.layout;
    bare.scaffolds.clear();  // which would serve for these prompts
    for (const auto& scaffold : c.pml.scaffolds) {
      for (const std::string& prompt : prompts_of(scaffold)) {
        INFO("seed " << seed << "\n" << c.pml.schema() << "\n" << prompt);
        const auto always = [](const JobSpec&) { return true; };
        StoredStates stored;
        stored.together = always;
        const auto plan = resolve(must(parse_prompt(prompt)), bare, c.encoder, stored);
        if (!plan.ok()) continue;
        must(check_plan(bare, *plan));
        const auto moved = [](const PlanRun& run) { return run.moved; };
        if (std::any_of(plan->runs.begin(), plan->runs.end(), moved)) continue;
        for (const JobSpec& spec : plan->jobs) {
          if (!spec.scaffold || spec.subject != kNone) continue;
          CHECK(begins_with(*plan, make_job(bare, spec)));
          ++n_compared;
        }
      }
    }
  }
  CHECK(n_compared > kCases / 20);
}

TEST_CASE(
    "a prompt whose turns hold no import takes its modules' states as the schema encodes them") {
  std::size_t n_compared = 0;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const Case c(seed);
    const PmlOracle oracle = c.oracle();
    if (oracle.refusal || oracle.shapes.count("import in a turn") != 0) continue;
    INFO("seed " << seed << "\n" << c.show());
    if (c.layout.attend == Attend::kSlots) continue;  // a prompt's modules are in slots
    const std::vector<JobSpec> encoded = plan_encoding(c.layout);
    for (const JobSpec& job : must(c.plan()).jobs) {
      if (job.scaffold) continue;  // sees its modules in the prompt's order
      CHECK(std::find(encoded.begin(), encoded.end(), job) != encoded.end());
      ++n_compared;
    }
  }
  CHECK(n_compared > kCases);
}

namespace {

// What encoding_cost bounds, made: the tokens of the jobs, and what it adds for each step.
std::uint64_t made_cost(const Layout& layout, const std::vector<JobSpec>& jobs) {
  std::uint64_t cost = 0;
  for (const JobSpec& spec : jobs) {
    cost += kItemCost * spec.steps.size();
    for (const JobRun& run : make_job(layout, spec).runs) cost += run.tokens.size();
  }
  return cost;
}

// With attend=self, what modules have of their own is not counted.
std::uint64_t own_of_self(const Layout& layout) {
  std::uint64_t cost = 0;
  if (layout.attend != Attend::kSelf) return cost;
  for (const Piece& piece : layout.pieces) cost += kItemCost + piece.tokens.size();
  for (const Slot& slot : layout.slots) cost += kItemCost + slot.len;
  return cost;
}

}  // namespace

TEST_CASE("what encoding costs is bounded before any job is made, a prompt's turns included") {
  std::size_t n_of_turns = 0;  // prompts whose jobs cost more than the schema's
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const Case c(seed);
    INFO("seed " << seed << "\n" << c.show());
    const std::uint64_t own = own_of_self(c.layout);
    CHECK(made_cost(c.layout, plan_encoding(c.layout)) <= encoding_cost(c.layout) + own);
    const auto plan = c.plan();
    if (!plan.ok()) continue;
    const Prompt prompt = must(parse_prompt(c.pml.prompt()));
    const FlatPrompt flat = must(flatten(c.layout, must(bind(prompt, c.layout, c.encoder))));
    std::vector<TurnTokens> turns(flat.turns.size());
    for (std::size_t i = 0; i < turns.size(); ++i)  // as many as the brackets have, one of each
      if (flat.turns[i].node) turns[i] = {{2}, {2}, {2}};
    const std::uint64_t made = made_cost(c.layout, plan->jobs);
    CHECK(made <= encoding_cost(c.layout, flat, turns) + own);
    n_of_turns += made > encoding_cost(c.layout) + own;
  }
  CHECK(n_of_turns > 10);
}
