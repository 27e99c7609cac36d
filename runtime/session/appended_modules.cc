// Turns with modules behind an answer: these are found or encoded, and attached to a fork.

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/conversation/turn_plan.h"
#include "runtime/prompt/repair.h"
#include "runtime/schema/encoder.h"
#include "runtime/session/appending.h"

namespace pc {
namespace {

// Those of a run that are not computed anew.
Tokens seen_of(const Tokens& tokens, const Anew& anew) {
  Tokens seen;
  auto next = anew.begin();
  for (std::uint32_t i = 0; i < tokens.size(); ++i) {
    if (next != anew.end() && *next == i)
      ++next;
    else
      seen.push_back(tokens[i]);
  }
  return seen;
}

// Where the first of the turns, the user's, begins to say something.
std::optional<Position> says_from(const TurnPlan& plan, const Tokenizer& tokenizer,
                                  const std::string& opening) {
  const auto first = std::ranges::find_if(
      plan.runs, [](const pml::PlanRun& run) { return run.kind != pml::RunKind::kRole; });
  if (first == plan.runs.end()) return std::nullopt;
  const bool is_shared = first != plan.runs.begin() && first->kind == pml::RunKind::kText &&
                         reaches_beyond(tokenizer, std::prev(first)->tokens, opening);
  return first->position - (is_shared ? 1 : 0);
}

Result<ResidentHandle> acquire(const Before& before, SchemaModule& module, Encoder& encoder,
                               ReadStats* found) {
  const Stopwatch watch;
  LoadedSchema& schema = *before.conversation.prompt()->schema;
  PC_CHECK_OK(schema.check_size(module));
  PC_TRY(AcquiredModule acquired, schema.acquire(module, encoder, before.run.caller().cancel));
  PC_TRY(ResidentHandle resident,
         before.run.engine().backend().resident(std::move(acquired.module)));
  ++found->modules_found;
  const bool encoded = acquired.source == ModuleSource::kEncoded;
  found->modules_encoded += encoded;
  (encoded ? found->encode_us : found->lookup_us) += watch.microseconds();
  return resident;
}

// The plan's runs, `shift` further on, with their modules' states. What these have seen while they
// were encoded is less than a conversation.
Result<std::vector<PlacedRun>> place(const Before& before, const TurnPlan& plan, Position shift,
                                     ReadStats* found) {
  std::vector<PlacedRun> placed;
  const Engine& engine = before.run.engine();
  Encoder encoder(engine.scheduler(), engine.store());
  for (const pml::PlanRun& run : plan.runs) {
    placed.push_back({&run, run.position + shift});
    if (run.kind != pml::RunKind::kCached || before.options.no_reuse) continue;
    placed.back().module = &plan.modules[run.job]->key.digest;
    placed.back().exact = false;
  }
  PC_CHECK_OK(before.repairs->put(*before.conversation.prompt(), placed));
  std::vector<bool> encoded(plan.modules.size());
  for (PlacedRun& run : placed) {
    if (!run.module) continue;
    const std::size_t job = run.run->job;
    const std::uint32_t n_encoded = found->modules_encoded;
    PC_TRY(run.resident, acquire(before, *plan.modules[job], encoder, found));
    run.encoded = encoded[job] = encoded[job] || found->modules_encoded > n_encoded;
  }
  return placed;
}

// Attaches runs of modules, and appends the others to the chain.
Status attach(const Engine& engine, std::span<const PlacedRun> runs, std::span<const Anew> anew,
              Appending* appending) {
  Appendix& appendix = appending->appendix;
  ReadStats& found = appending->found;
  ScatteredTokens between(engine.model().desc);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const pml::PlanRun& run = *runs[i].run;
    const Position position = runs[i].position;
    appendix.tokens.insert(appendix.tokens.end(), run.tokens.begin(), run.tokens.end());
    if (!runs[i].resident) {
      between.move_to(&appendix.chain);
      appendix.chain.append(run.tokens, position, run.cache);
      const bool closes = i + 1 < runs.size() && runs[i + 1].run->kind == pml::RunKind::kRole;
      if (run.kind == pml::RunKind::kText && closes) appendix.chain.end_turn();
      continue;
    }
    const auto n = static_cast<std::uint32_t>(run.tokens.size());
    const std::vector<std::uint32_t> hidden = hidden_bits(anew[i], n);
    if (is_attached(engine.model().desc, anew[i], n)) {
      PC_CHECK_OK(appending->timeline->attach(
          runs[i].resident,
          {run.job_run, 0, n, position, hidden.empty() ? nullptr : hidden.data()}));
      appendix.chain.attach({*runs[i].module}, run.job_run, n, position);
      found.cached_bytes += engine.attached_bytes(n);
    }
    between.add(anew[i], run.tokens, position);
    appendix.imports.push_back({position, seen_of(run.tokens, anew[i])});
    if (runs[i].encoded) found.encoded_tokens += n - anew[i].size();
    found.repaired_tokens += anew[i].size();
  }
  between.move_to(&appendix.chain);
  return ok();
}

}  // namespace

Result<Appending> plan_appended_modules(const Before& before,
                                        const std::vector<pml::PromptNode>& turns,
                                        const std::string& answer, const std::string& opening) {
  const Conversation& conversation = before.conversation;
  const Engine& engine = before.run.engine();
  std::vector<pml::PromptNode> said(conversation.said().begin(), conversation.said().end());
  said.push_back(text_turn(pml::Role::kAssistant, answer));
  PC_TRY(const TurnPlan plan,
         plan_turns(*conversation.prompt(), said, turns, conversation.open().read.n_schema_runs));
  std::size_t n_new = 0;
  for (const pml::PlanRun& run : plan.runs) n_new += run.tokens.size();
  PC_TRY(Appending appending, begin_appending(before, true, n_new));
  Appendix& appendix = appending.appendix;
  const Position shift = appendix.begin - plan.runs.front().position;
  const pml::PlanRun& last = plan.runs.back();
  appendix.end = last.position + shift + static_cast<Position>(last.tokens.size());
  PC_CHECK_OK(check_end(before, appendix.end));
  appendix.last = opening_run(last);
  appendix.n_schema_runs = schema_runs(plan.runs);
  if (turns.front().role == pml::Role::kUser)
    if (const auto from = says_from(plan, engine.tokenizer(), opening))
      appendix.cut = Cut{*from + shift, 0};
  if (!appending.timeline) {
    PC_TRY(appending.timeline, before.run.fork());
  }
  if (!before.answer.tokens().empty()) appendix.chain.end_turn();
  PC_TRY(const std::vector<PlacedRun> placed, place(before, plan, shift, &appending.found));
  const Stopwatch choose_watch;
  std::vector<pc_run> unread;
  appendix.chain.add_missing(&unread);
  PC_TRY(const std::vector<Anew> anew,
         choose_anew(placed, {*appending.timeline, before.run.caller().client, unread},
                     engine.scheduler(), before.run.caller().cancel));
  appending.found.prefill_us = choose_watch.microseconds();
  PC_CHECK_OK(attach(engine, placed, anew, &appending));
  return appending;
}

}  // namespace pc
