// Random schemas and prompts against the plain recursion of random_pml.h.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "pml/encode_plan.h"
#include "pml/layout.h"
#include "pml/plan_check.h"
#include "pml/prompt_parser.h"
#include "pml/resolve.h"
#include "pml/schema_parser.h"
#include "tests/support/expect.h"
#include "tests/support/fake_tokenizer.h"
#include "tests/support/random_pml.h"

using namespace pc;
using namespace pc::pml;
using namespace pc::test;

namespace {

constexpr std::uint64_t kCases = 2000;

Tokens tokens_of(const Plan& plan) {
  Tokens all;
  for (const PlanRun& run : plan.runs) all.insert(all.end(), run.tokens.begin(), run.tokens.end());
  return all;
}

Tokens tokens_of(const EncodeJob& job) {
  Tokens all;
  for (const JobRun& run : job.runs) all.insert(all.end(), run.tokens.begin(), run.tokens.end());
  return all;
}

struct Case {
  explicit Case(std::uint64_t seed)
      : pml(seed, tokenizer),
        encoder(tokenizer.encoder(bracket_chat(), pml.bos)),
        layout(must(lay_out(must(parse_schema(pml.schema())), encoder))),
        jobs(plan_encoding(layout)) {}

  FakeTokenizer tokenizer;
  RandomPml pml;
  TextEncoder encoder;
  Layout layout;
  std::vector<EncodeJob> jobs;
};

// Text that did not fit stands behind every run of the schema, in the order written.
void check_moved(const FakeTokenizer& tokenizer, const Plan& plan, Tokens flat) {
  bool behind = false;
  for (const PlanRun& run : plan.runs) {
    behind |= run.moved;
    if (behind) CHECK((run.kind == RunKind::kText || run.kind == RunKind::kRole));
  }
  Tokens all = tokens_of(plan);
  if (behind) {
    // What was to open the text may have moved, and then is plain markup.
    all = tokenizer.without_opening(std::move(all));
    flat = tokenizer.without_opening(std::move(flat));
    std::sort(all.begin(), all.end());
    std::sort(flat.begin(), flat.end());
  }
  CHECK(all == flat);
}

// Opening markup stands behind BOS or at the very start, nowhere else.
bool check_opening(const Case& c, const Plan& plan) {
  const Tokens all = tokens_of(plan);
  const std::size_t place = c.pml.bos ? 1 : 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i != place) CHECK_FALSE(c.tokenizer.is_opening(all[i]));
  return all.size() > place && c.tokenizer.is_opening(all[place]);
}

}  // namespace

TEST_CASE("random layouts and encode plans keep their invariants") {
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const Case c(seed);
    INFO("seed " << seed << "\n" << c.pml.schema());
    must(check_layout(c.layout));
    must(check_jobs(c.layout, c.jobs));
  }
}

TEST_CASE("random plans are the flat prompt, whatever attends to what") {
  std::size_t n_resolved = 0, n_moved = 0, n_opened = 0;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const Case c(seed);
    INFO("seed " << seed << "\n" << c.pml.schema() << "\n" << c.pml.prompt());
    const auto flat = c.pml.flat();
    const auto plan = resolve(must(parse_prompt(c.pml.prompt())), c.layout, c.jobs, c.encoder);
    if (!flat) {  // a turn within a turn
      REQUIRE_FALSE(plan.ok());
      CHECK_THAT(plan.error().message, Catch::Matchers::Contains("would"));
      CHECK(plan.error().line > 0);
      continue;
    }
    ++n_resolved;
    must(check_plan(c.layout, c.jobs, must(plan)));
    n_moved +=
        std::any_of(plan->runs.begin(), plan->runs.end(), [](const PlanRun& r) { return r.moved; });
    if (c.pml.positions == "compact")
      CHECK(tokens_of(*plan) == *flat);
    else
      check_moved(c.tokenizer, *plan, *flat);
    n_opened += check_opening(c, *plan);
  }
  // The generator must not have gone blind.
  CHECK(n_resolved > kCases * 3 / 4);
  CHECK(n_moved > kCases / 50);
  CHECK(n_opened > kCases / 20);
}

TEST_CASE("a scaffold's pass is the flat prompt that imports what it lists") {
  std::size_t n_compared = 0;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const Case c(seed);
    if (c.pml.has_params()) continue;  // their fillers stand in the pass only
    for (const EncodeJob& job : c.jobs) {
      if (!job.scaffold) continue;
      INFO("seed " << seed << "\n" << c.pml.schema() << "\n" << c.pml.scaffold_prompt(job.subject));
      const Plan plan = must(resolve(must(parse_prompt(c.pml.scaffold_prompt(job.subject))),
                                     c.layout, c.jobs, c.encoder));
      const Tokens pass = tokens_of(job), flat = tokens_of(plan);
      REQUIRE(pass.size() <= flat.size());
      CHECK(std::equal(pass.begin(), pass.end(), flat.begin()));
      ++n_compared;
    }
  }
  CHECK(n_compared > 50);
}

TEST_CASE("planning is deterministic") {
  const Case a(7), b(7);
  REQUIRE(a.jobs.size() == b.jobs.size());
  for (std::size_t i = 0; i < a.jobs.size(); ++i)
    CHECK(tokens_of(a.jobs[i]) == tokens_of(b.jobs[i]));
}
