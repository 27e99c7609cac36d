// A schema and prompts for it, resolved and shown in one line each.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "pml/layout/encode_plan.h"
#include "pml/layout/layout_builder.h"
#include "pml/plan/plan_check.h"
#include "pml/plan/resolve.h"
#include "pml/syntax/prompt_parser.h"
#include "pml/syntax/schema_parser.h"
#include "tests/support/expect.h"
#include "tests/support/fake_tokenizer.h"

namespace pc::test {

using namespace pc::pml;  // NOLINT: a fixture of that folder's tests

struct ResolveFixture {
  FakeTokenizer tokenizer;
  TextEncoder encoder = tokenizer.encoder(bracket_chat());
  Layout layout;
  std::vector<EncodeJob> jobs;
  std::function<bool(const JobSpec&)> are_together;  // none: nobody asks

  void schema(const std::string& content, const std::string& attributes = "") {
    layout = must(
        lay_out(must(parse_schema("<schema name='s' " + attributes + ">" + content + "</schema>")),
                encoder));
    jobs = make_jobs(layout, plan_encoding(layout));
  }
  Result<Plan> try_resolve(const std::string& content) const {
    const Prompt prompt = must(parse_prompt("<prompt schema='s'>" + content + "</prompt>"));
    StoredStates stored;
    if (are_together) stored.together = are_together;
    return resolve(prompt, layout, encoder, stored);
  }
  Plan plan(const std::string& content) const {
    Plan plan = must(try_resolve(content));
    must(check_plan(layout, plan));
    return plan;
  }
  std::string remarks(const std::string& content) const {
    std::string out;
    for (const std::string& remark : plan(content).remarks) out += remark + "|";
    return out;
  }
  // The passes of the plan's jobs: (seen) and {kept}.
  std::string contexts(const std::string& content) const {
    const Plan p = plan(content);
    std::string out;
    for (const JobSpec& spec : p.jobs) {
      const EncodeJob job = make_job(layout, spec);
      must(check_job(layout, job));
      out += (out.empty() ? "" : " ") + (job.name.empty() ? "root" : job.name) + ":";
      for (const JobRun& run : job.runs)
        out += (run.keep ? "{" : "(") + tokenizer.decode(run.tokens) + (run.keep ? "}" : ")");
    }
    return out;
  }
  // The tokens in order of position.
  std::string flat(const std::string& content) const {
    std::string out;
    for (const PlanRun& run : plan(content).runs) out += tokenizer.decode(run.tokens);
    return out;
  }
  // Every run as kind, position and text, moved ones with '!'.
  std::string show(const std::string& content) const {
    const Plan p = plan(content);
    std::string out;
    for (const PlanRun& run : p.runs) {
      out += kind(run.kind) + std::to_string(run.position) + (run.moved ? "!" : "") + ":" +
             tokenizer.decode(run.tokens) + "|";
    }
    return out + "end " + std::to_string(p.end);
  }
  static std::string kind(RunKind kind) {
    switch (kind) {
      case RunKind::kCached:
        return "c";
      case RunKind::kText:
        return "t";
      case RunKind::kArgument:
        return "a";
      case RunKind::kRole:
        return "r";
      case RunKind::kUncached:
        return "u";
    }
    return "?";
  }
  std::string name_of(const Plan& p, const PlanRun& run) const {
    return make_job(layout, p.jobs[run.job]).name;
  }
  // The content stands behind 19 bytes of <prompt schema='s'>.
  void refused(const std::string& content, std::uint32_t column, const std::string& part) const {
    INFO(content);
    expect_error(try_resolve(content), Code::kPmlSemantic, 1, 19 + column, part);
  }
};

}  // namespace pc::test
