// The C API's calls that make prompts and look at them.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "promptcache/promptcache.h"
#include "runtime/api/c_api_handles.h"
#include "runtime/api/c_api_messages.h"
#include "runtime/api/c_api_support.h"
#include "runtime/api/c_api_text.h"
#include "runtime/prompt/loaded_prompt.h"
#include "runtime/reports/counts.h"
#include "runtime/reports/reports.h"

namespace {

using pc::Status;
using namespace pc::capi;

void write_counts(const pc::LoadedPrompt& prompt, const pc::PromptCounts& c,
                  pc_prompt_counts* counts) {
  pc_prompt_counts out{};
  out.tokens = c.tokens;
  out.module_tokens = c.module_tokens;
  out.approximate_tokens = c.approximate_tokens;
  out.repaired_tokens = c.repaired_tokens;
  out.chained_tokens = c.chained_tokens;
  out.computed_tokens = c.tokens - c.module_tokens - c.chained_tokens + c.repaired_tokens;
  out.modules = c.modules;
  out.modules_missing = c.modules_missing;
  out.end = static_cast<std::uint32_t>(prompt.plan.end);
  write_stats(out, counts);
}

pc_module_run module_run(const pc::LookedRun& run) {
  pc_module_run out{};
  out.begin = run.begin;
  out.n_tokens = run.n_tokens;
  out.state = static_cast<std::uint32_t>(run.state);
  out.exact = run.exact;
  if (!run.exact) write_text(pc::pml::to_string(run.repair), out.repair);
  write_text(run.why, out.why);
  return out;
}

}  // namespace

extern "C" {

pc_status pc_prompt_parse(const pc_schema* schema, const char* pml, std::size_t bytes,
                          pc_prompt** prompt, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(schema);
    PC_REQUIRE(pml);
    PC_REQUIRE(prompt);
    PC_TRY(auto parsed, pc::LoadedPrompt::parse(schema->schema, view_of(pml, bytes)));
    *prompt = new pc_prompt{std::move(parsed)};
    return pc::ok();
  });
}

pc_status pc_prompt_from_messages(const pc_schema* schema, const pc_message* messages,
                                  std::size_t n, pc_prompt** prompt, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(schema);
    PC_REQUIRE(messages || n == 0);
    PC_REQUIRE(prompt);
    PC_TRY(const auto read, read_messages(messages, n));
    PC_TRY(auto resolved, pc::LoadedPrompt::of_messages(schema->schema, read));
    *prompt = new pc_prompt{std::move(resolved)};
    return pc::ok();
  });
}

pc_status pc_prompt_from_text(const pc_schema* schema, const char* text, std::size_t bytes,
                              pc_prompt** prompt, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(schema);
    PC_REQUIRE(text);
    PC_REQUIRE(prompt);
    PC_TRY(auto resolved, pc::LoadedPrompt::of_text(schema->schema, view_of(text, bytes)));
    *prompt = new pc_prompt{std::move(resolved)};
    return pc::ok();
  });
}

pc_status pc_prompt_from_raw_text(const pc_schema* schema, const char* text, std::size_t bytes,
                                  std::uint32_t flags, pc_prompt** prompt, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(schema);
    PC_REQUIRE(text);
    PC_REQUIRE(prompt);
    PC_TRY(const auto rules, text_rules(flags));
    PC_TRY(auto resolved,
           pc::LoadedPrompt::of_raw_text(schema->schema, view_of(text, bytes), rules));
    *prompt = new pc_prompt{std::move(resolved)};
    return pc::ok();
  });
}

pc_status pc_prompt_from_tokens(const pc_schema* schema, const std::int32_t* tokens, std::size_t n,
                                pc_prompt** prompt, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(schema);
    PC_REQUIRE(tokens || n == 0);
    PC_REQUIRE(prompt);
    PC_TRY(auto resolved, pc::LoadedPrompt::of_tokens(schema->schema, {tokens, n}));
    *prompt = new pc_prompt{std::move(resolved)};
    return pc::ok();
  });
}

pc_status pc_prompt_get_counts(const pc_prompt* prompt, pc_prompt_counts* counts, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(prompt);
    PC_REQUIRE(counts);
    PC_CHECK_OK(prompt->prompt->check_window(1, true));
    write_counts(*prompt->prompt, pc::count_prompt(*prompt->prompt), counts);
    return pc::ok();
  });
}

pc_status pc_prompt_look(const pc_prompt* prompt, pc_prompt_counts* counts, pc_module_run* runs,
                         std::size_t capacity, std::size_t* n_runs, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(prompt);
    PC_REQUIRE(runs || capacity == 0);
    PC_REQUIRE(n_runs);
    PC_CHECK_OK(prompt->prompt->check_window(1, true));
    const pc::PromptLook look = pc::look_at_prompt(*prompt->prompt);
    if (counts) write_counts(*prompt->prompt, look.counts, counts);
    *n_runs = look.runs.size();
    for (std::size_t i = 0; i < std::min(capacity, look.runs.size()); ++i)
      runs[i] = module_run(look.runs[i]);
    return pc::ok();
  });
}

pc_status pc_prompt_tokens(const pc_prompt* prompt, std::int32_t* tokens, std::size_t capacity,
                           std::size_t* n_tokens, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(prompt);
    PC_REQUIRE(tokens || capacity == 0);
    PC_REQUIRE(n_tokens);
    std::size_t n = 0;
    for (const pc::pml::PlanRun& run : prompt->prompt->plan.runs)
      for (const pc::TokenId token : run.tokens)
        if (n++ < capacity) tokens[n - 1] = token;
    *n_tokens = n;
    return pc::ok();
  });
}

pc_status pc_prompt_remarks(const pc_prompt* prompt, char** text, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(prompt);
    PC_REQUIRE(text);
    std::string lines;
    for (const std::string& remark : prompt->prompt->plan.remarks) lines += remark + "\n";
    if (const pc::ModuleStore* store = prompt->prompt->schema->engine().store())
      for (const std::string& remark : store->tier_remarks()) lines += remark + "\n";
    return give(lines, text);
  });
}

void pc_prompt_close(pc_prompt* prompt) {
  delete prompt;
}

pc_status pc_prompt_explain(const pc_prompt* prompt, char** json, pc_error* error) {
  return guarded(error, [&]() -> Status {
    PC_REQUIRE(prompt);
    PC_REQUIRE(json);
    PC_CHECK_OK(prompt->prompt->check_window(1, true));  // what a session refuses is refused here
    return give(pc::explain_prompt(*prompt->prompt), json);
  });
}

}  // extern "C"
