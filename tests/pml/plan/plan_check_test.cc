// The validators of layouts, jobs and plans find each thing that can be wrong with one: what they
// say "ok" to has been seen to be refused when it was changed.

#include "pml/plan/plan_check.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tests/pml/resolve_fixture.h"

namespace pc::test {
namespace {

constexpr const char* kSchema =
    "Start. <module name='a'>one <param name='p' len='2'/> two<module name='b'>three</module> four"
    "</module><union><module name='c'>five</module><module name='d'>six seven</module></union>"
    "<module name='e' cache='false'>eight</module> Amid. <module name='g'>nine</module> End."
    "<scaffold name='f' modules='a a/b'/>";
constexpr const char* kPrompt = "<a p='x'><b/></a><c/><e/><g/>So?";

template <class T>
struct Wrong {
  const char* says;  // a part of the sentence
  std::function<void(T&)> change;
};

void refused(const Status& status, const std::string& part) {
  INFO("expected: " << part);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == Code::kInternal);
  CHECK_THAT(status.error().message, Catch::StartsWith("broken invariant: "));
  CHECK_THAT(status.error().message, Catch::Contains(part));
}

std::uint32_t item_of(const Layout& l, ItemKind kind, std::uint32_t n = 0) {
  for (std::uint32_t i = 0; i < l.items.size(); ++i)
    if (l.items[i].kind == kind && n-- == 0) return i;
  FAIL("no such item");
  return 0;
}

std::uint32_t module(const Layout& l, const char* path) {
  return l.find_module(path).value();
}

TEST_CASE("whatever is wrong with a layout is found") {
  ResolveFixture f;
  f.schema(kSchema);
  must(check_layout(f.layout));
  const std::vector<Wrong<Layout>> wrong = {
      {"not the root", [](Layout& l) { l.modules.clear(); }},
      {"not the root", [](Layout& l) { l.modules[kRoot].parent = 1; }},
      {"unions are out of order", [](Layout& l) { l.unions.clear(); }},
      {"unions are out of order",
       [](Layout& l) { l.items[item_of(l, ItemKind::kOpenUnion)].index = 1; }},
      {"a union is not balanced",
       [](Layout& l) { l.items[item_of(l, ItemKind::kCloseUnion)].index = 1; }},
      {"a union is not balanced", [](Layout& l) { ++l.unions[0].close_item; }},
      {"a member is outside of its union",
       [](Layout& l) { l.items[item_of(l, ItemKind::kOpenUnion)].kind = ItemKind::kBareText; }},
      {"a union ends before its members",
       [](Layout& l) {
         // The union's end stands inside of its last member.
         const std::uint32_t end = item_of(l, ItemKind::kCloseUnion);
         std::swap(l.items[end], l.items[end - 1]);
         l.unions[0].close_item = end - 1;
         l.modules[module(l, "d")].close_item = end;
       }},
      {"own items or tokens are miscounted", [](Layout& l) { ++l.modules[1].n_tokens; }},
      {"own items or tokens are miscounted", [](Layout& l) { l.modules[kRoot].own.push_back(0); }},
      {"own items are not those it holds", [](Layout& l) { l.modules[kRoot].own[0] = 1; }},
      {"own items are not those it holds", [](Layout& l) { l.modules[kRoot].own.clear(); }},
      {"every piece, slot, module and union once", [](Layout& l) { l.pieces.push_back({}); }},
      {"every piece, slot, module and union once", [](Layout& l) { l.slots.push_back({}); }},
      {"every piece, slot, module and union once", [](Layout& l) { l.unions.push_back({}); }},
      {"the layout's extent is wrong", [](Layout& l) { ++l.extent; }},
      {"pieces are out of order", [](Layout& l) { ++l.items[item_of(l, ItemKind::kPiece)].index; }},
      {"pieces are out of order", [](Layout& l) { l.pieces.clear(); }},
      {"a piece is empty", [](Layout& l) { l.pieces[0].tokens.clear(); }},
      {"a piece has the wrong owner or position", [](Layout& l) { l.pieces[0].module = 1; }},
      {"a piece has the wrong owner or position", [](Layout& l) { ++l.pieces[0].position; }},
      {"slots are out of order", [](Layout& l) { ++l.items[item_of(l, ItemKind::kSlot)].index; }},
      {"slots are out of order", [](Layout& l) { l.slots.clear(); }},
      {"filler is not as long", [](Layout& l) { l.slots[0].len = 0; }},
      {"filler is not as long", [](Layout& l) { l.slots[0].filler.push_back(1); }},
      {"a slot has the wrong owner or position", [](Layout& l) { l.slots[0].module = kRoot; }},
      {"a slot has the wrong owner or position", [](Layout& l) { --l.slots[0].position; }},
      {"modules are out of order",
       [](Layout& l) { ++l.items[item_of(l, ItemKind::kOpenModule)].index; }},
      {"a module has the wrong parent or position", [](Layout& l) { ++l.modules[1].open_item; }},
      {"a module has the wrong parent or position", [](Layout& l) { l.modules[2].parent = kRoot; }},
      {"a module has the wrong parent or position", [](Layout& l) { ++l.modules[1].position; }},
      {"a module is not balanced", [](Layout& l) { ++l.modules[1].close_item; }},
      {"a module is not balanced",
       [](Layout& l) { l.items[item_of(l, ItemKind::kCloseModule)].index = 77; }},
      {"a module is not balanced",
       [](Layout& l) {
         l.items[item_of(l, ItemKind::kBareText)] = {ItemKind::kCloseModule, 0};
       }},
      {"a module's extent is wrong", [](Layout& l) { ++l.modules[1].extent; }},
  };
  for (const auto& [says, change] : wrong) {
    Layout layout = f.layout;
    change(layout);
    refused(check_layout(layout), says);
  }
  f.schema("<module name='a'>one</module>");
  REQUIRE(f.layout.items.back().kind == ItemKind::kCloseModule);
  f.layout.items.pop_back();
  refused(check_layout(f.layout), "modules or unions are not balanced");
}

// The first run that is kept, and the first that is not.
JobRun& run_of(EncodeJob& job, bool kept) {
  for (JobRun& run : job.runs)
    if (run.keep == kept) return run;
  FAIL("no such run");
  return job.runs[0];
}

TEST_CASE("whatever is wrong with an encoding job is found") {
  ResolveFixture f;
  f.schema(kSchema, GENERATE("positions='compact'", "positions='schema'"));
  const bool compact = f.layout.positions == Positions::kCompact;
  must(check_jobs(f.layout, f.jobs));
  const auto of_a = std::find_if(f.jobs.begin(), f.jobs.end(),
                                 [](const EncodeJob& job) { return job.name == "a"; });
  REQUIRE(of_a != f.jobs.end());
  const std::vector<Wrong<EncodeJob>> wrong = {
      {"about nothing", [](EncodeJob& j) { j.subject = 99; }},
      {"about nothing", [](EncodeJob& j) { j.subject = 99, j.scaffold = true; }},
      {"has an empty run", [](EncodeJob& j) { j.runs[0].tokens.clear(); }},
      {"has runs that overlap", [](EncodeJob& j) { j.runs[1].position = 0; }},
      {compact ? "has a gap" : "overlap", [](EncodeJob& j) { ++j.runs[0].position; }},
      {"not its piece's", [](EncodeJob& j) { run_of(j, true).piece = 99; }},
      {"not its piece's", [](EncodeJob& j) { run_of(j, true).tokens[0] ^= 1; }},
      {"nothing kept sees", [](EncodeJob& j) { j.runs.clear(); }},
      {"nothing kept sees", [](EncodeJob& j) { j.runs.back().keep = false; }},
      {"does not keep the pieces it is for", [](EncodeJob& j) { run_of(j, true).keep = false; }},
      {"does not keep the pieces it is for", [](EncodeJob& j) { j.subject = kRoot; }},
      {"does not keep the pieces it is for",
       [](EncodeJob& j) { j.subject = 0, j.scaffold = true; }},
  };
  for (const auto& [says, change] : wrong) {
    EncodeJob job = *of_a;
    change(job);
    refused(check_job(f.layout, job), says);
  }
  if (!compact) {
    EncodeJob early = *of_a;
    for (JobRun& run : early.runs) --run.position;
    early.runs.erase(early.runs.begin());
    early.runs[0].position = 0;
    refused(check_job(f.layout, early), "before its schema position");
  }
  auto jobs = f.jobs;
  jobs.erase(jobs.begin());
  refused(check_jobs(f.layout, jobs), "has not the one job it needs");
  jobs = f.jobs;
  jobs.push_back(*of_a);
  refused(check_jobs(f.layout, jobs), "module 'a' has not the one job it needs");
  jobs = f.jobs;
  jobs.back().runs.clear();
  refused(check_jobs(f.layout, jobs), "nothing kept sees");
}

PlanRun& run_of(Plan& plan, RunKind kind) {
  for (PlanRun& run : plan.runs)
    if (run.kind == kind) return run;
  FAIL("no such run");
  return plan.runs[0];
}

TEST_CASE("whatever is wrong with a plan is found") {
  ResolveFixture f;
  f.schema(kSchema, GENERATE("positions='compact'", "positions='schema'"));
  const bool compact = f.layout.positions == Positions::kCompact;
  const Plan plan = f.plan(kPrompt);
  const std::uint32_t d = module(f.layout, "d");
  const auto piece_of = [&](std::uint32_t m) {
    for (std::uint32_t i = 0; i < f.layout.pieces.size(); ++i)
      if (f.layout.pieces[i].module == m) return i;
    return kNone;
  };
  const std::vector<Wrong<Plan>> wrong = {
      {"a job does not keep the pieces", [](Plan& p) { p.jobs[0].subject = 99; }},
      {"a job does not keep the pieces",
       [](Plan& p) { p.jobs[0].subject = 99, p.jobs[0].scaffold = true; }},
      {"a job does not keep the pieces", [](Plan& p) { p.jobs[0].steps.clear(); }},
      {"a job does not keep the pieces",
       [](Plan& p) {
         p.jobs[0].steps.push_back({9999, kNone, true});
       }},
      {"a job sees a stand-in",
       [](Plan& p) {
         p.jobs[0].steps.insert(p.jobs[0].steps.begin(), {kNone, kNone, false, 0});
       }},
      {"a run is empty", [](Plan& p) { p.runs[0].tokens.clear(); }},
      {"runs overlap", [](Plan& p) { p.runs[1].position = 0; }},
      {compact ? "a compact plan has a gap" : "the plan does not end",
       [](Plan& p) { ++p.runs.back().position; }},
      {"a run is of no piece", [](Plan& p) { run_of(p, RunKind::kCached).piece = 99; }},
      {"not its piece's", [](Plan& p) { run_of(p, RunKind::kCached).tokens[0] ^= 1; }},
      {"not its piece's", [](Plan& p) { run_of(p, RunKind::kUncached).tokens[0] ^= 1; }},
      {"cache attribute is not obeyed",
       [](Plan& p) { run_of(p, RunKind::kCached).kind = RunKind::kUncached; }},
      {"cache attribute is not obeyed",
       [](Plan& p) { run_of(p, RunKind::kUncached).kind = RunKind::kCached; }},
      {"a cached run is of no job", [](Plan& p) { run_of(p, RunKind::kCached).job = 99; }},
      {"keeps no such run", [](Plan& p) { run_of(p, RunKind::kCached).job_run = 99; }},
      {"keeps another piece there",
       [](Plan& p) {
         PlanRun& run = run_of(p, RunKind::kCached);
         for (std::uint32_t j = 0; j < p.jobs.size(); ++j)
           if (p.jobs[j].subject != kRoot) run.job = j, run.job_run = 0;
       }},
      {"the plan does not end", [](Plan& p) { ++p.end; }},
      {"a piece is missing or stands twice",
       [](Plan& p) {
         // All the same where it stands, but of nothing.
         run_of(p, RunKind::kCached).kind = RunKind::kText;
       }},
      {"two members of one union",
       [&](Plan& p) {
         PlanRun run;
         run.kind = RunKind::kCached;
         run.piece = piece_of(d);
         run.tokens = f.layout.pieces[run.piece].tokens;
         run.position = p.end;
         p.shift = p.end;
         JobSpec job;
         job.subject = d;
         job.steps = {{f.layout.modules[d].own[0], kNone, true}};
         run.job = static_cast<std::uint32_t>(p.jobs.size());
         p.jobs.push_back(job);
         p.runs.push_back(run);
         p.end += static_cast<Position>(run.tokens.size());
       }},
  };
  for (const auto& [says, change] : wrong) {
    Plan changed = plan;
    change(changed);
    refused(check_plan(f.layout, changed), says);
  }
  Plan changed = plan;
  if (compact) {
    changed.runs.back().moved = true;
    refused(check_plan(f.layout, changed), "moved text");
  } else {
    run_of(changed, RunKind::kUncached).position += 1 + changed.shift;
    refused(check_plan(f.layout, changed), "away from its schema position");
  }
}

}  // namespace
}  // namespace pc::test
