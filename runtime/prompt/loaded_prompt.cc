#include "runtime/prompt/loaded_prompt.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "pml/syntax/prompt_parser.h"
#include "runtime/scheduler/stopwatch.h"

namespace pc {

namespace {

// A token and its distance in front of something.
using Seen = std::pair<Position, TokenId>;

void add(std::vector<Seen>* seen, const Tokens& tokens, Position position, Position origin) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    seen->push_back({origin - position - static_cast<Position>(i), tokens[i]});
}

}  // namespace

void remark_unspelled(const Tokenizer& tokenizer, std::string_view text,
                      std::vector<std::string>* remarks) {
  const auto character = tokenizer.unspelled(text);
  if (!character) return;
  std::size_t at = 0;
  std::array<char, 16> code{};
  std::snprintf(code.data(), code.size(), "U+%04X",
                static_cast<unsigned>(utf8_next(*character, &at)));
  std::string remark = std::string("the model's vocabulary has no token for ") + code.data() +
                       ", which is left out, as by its own tokenizer";
  if (std::ranges::find(*remarks, remark) == remarks->end()) remarks->push_back(std::move(remark));
}

namespace {

std::string spelled(const Tokenizer& tokenizer, const Tokens& tokens) {
  std::string text;
  for (const TokenId token : tokens)
    tokenizer.append_bytes(token, &text, Tokenizer::Controls::kSpell);
  return text;
}

}  // namespace

std::optional<std::uint32_t> opening_tokens(const Tokenizer& tokenizer, const Tokens& last,
                                            const std::string& opening) {
  if (opening.empty()) return 0;
  if (!spelled(tokenizer, last).ends_with(opening)) return std::nullopt;
  return static_cast<std::uint32_t>(last.size());
}

bool reaches_beyond(const Tokenizer& tokenizer, const Tokens& last, const std::string& opening) {
  if (last.empty() || opening.empty()) return false;
  std::string text = spelled(tokenizer, last);
  const std::size_t n_before = spelled(tokenizer, {last.begin(), last.end() - 1}).size();
  // What is shorter than the opening begins within a token of what stands before it.
  const auto is_opening = [&] { return text.ends_with(opening) || opening.ends_with(text); };
  if (is_opening()) return false;
  while (text.size() > n_before + 1) {
    text.pop_back();
    if (is_opening()) return true;
  }
  return false;
}

namespace {

void remark_unspelled(const Tokenizer& tokenizer, const std::vector<pml::PromptNode>& nodes,
                      std::vector<std::string>* remarks) {
  for (const pml::PromptNode& node : nodes) {
    remark_unspelled(tokenizer, node.text, remarks);
    for (const pml::Argument& argument : node.arguments)
      remark_unspelled(tokenizer, argument.value, remarks);
    remark_unspelled(tokenizer, node.children, remarks);
  }
}

// Of a prompt that has its plan. The time is from its text, or its tokens, to here.
void finish(LoadedPrompt* prompt, std::shared_ptr<LoadedSchema> schema, const Stopwatch& watch) {
  prompt->modules = schema->modules_of(prompt->plan);
  prompt->schema = std::move(schema);
  prompt->plan_us = watch.microseconds();
}

Result<std::shared_ptr<const LoadedPrompt>> of_tokens_since(std::shared_ptr<LoadedSchema> schema,
                                                            std::span<const TokenId> tokens,
                                                            const Stopwatch& watch,
                                                            std::string_view text = {}) {
  auto prompt = std::make_shared<LoadedPrompt>();
  PC_TRY(prompt->plan, schema->plan(tokens));
  remark_unspelled(schema->engine().tokenizer(), text, &prompt->plan.remarks);
  prompt->written.schema = schema->layout().schema;
  finish(prompt.get(), std::move(schema), watch);
  return std::shared_ptr<const LoadedPrompt>(std::move(prompt));
}

using Together = LoadedPrompt::Together;

// Layers that carry states have read a token or not; it cannot be computed once more.
void remark_repair(LoadedPrompt* prompt) {
  if (!prompt->schema->engine().model().is_recurrent()) return;
  const auto is_repaired = [&](const pml::PlanRun& run) {
    return run.kind == pml::RunKind::kCached &&
           prompt->written.repair.value_or(prompt->schema->repair_of(run)).is_partial();
  };
  if (std::ranges::none_of(prompt->plan.runs, is_repaired)) return;
  prompt->plan.remarks.push_back(
      "repair= is left out: layers of this model carry states, so that its modules are used as "
      "they "
      "are, computed whole (repair=\"all\"), or, with <scaffold>, as they were encoded together");
}

Result<std::shared_ptr<LoadedPrompt>> make(std::shared_ptr<LoadedSchema> schema,
                                           pml::Prompt written, const Stopwatch& watch,
                                           Together together = Together::kWhereFound) {
  auto prompt = std::make_shared<LoadedPrompt>();
  PC_TRY(prompt->plan, schema->plan(written, together));
  remark_unspelled(schema->engine().tokenizer(), written.children, &prompt->plan.remarks);
  prompt->written = std::move(written);
  finish(prompt.get(), std::move(schema), watch);
  remark_repair(prompt.get());
  return prompt;
}

// A model that was taught turns ends what stands in none at once, or goes on with it.
void remark_no_turn(LoadedPrompt* prompt) {
  const bool has_turns = std::ranges::any_of(
      prompt->plan.runs, [](const pml::PlanRun& r) { return r.kind == pml::RunKind::kRole; });
  if (has_turns || prompt->plan.chat || !prompt->schema->engine().text_encoder().chat) return;
  prompt->plan.remarks.push_back(
      "no turn of the prompt asks for an answer, so the model continues the text: to be answered, "
      "put what is asked into <user>");
}

Result<std::shared_ptr<const LoadedPrompt>> planned(std::shared_ptr<LoadedSchema> schema,
                                                    pml::Prompt written, const Stopwatch& watch) {
  PC_TRY(auto prompt, make(std::move(schema), std::move(written), watch));
  return std::shared_ptr<const LoadedPrompt>(std::move(prompt));
}

}  // namespace

Result<std::shared_ptr<const LoadedPrompt>> LoadedPrompt::parse(
    std::shared_ptr<LoadedSchema> schema, std::string_view pml) {
  const Stopwatch watch;
  PC_TRY(pml::Prompt written, pml::parse_prompt(pml));
  PC_TRY(auto prompt, make(std::move(schema), std::move(written), watch));
  remark_no_turn(prompt.get());
  return std::shared_ptr<const LoadedPrompt>(std::move(prompt));
}

Result<std::shared_ptr<const LoadedPrompt>> LoadedPrompt::of(std::shared_ptr<LoadedSchema> schema,
                                                             pml::Prompt prompt,
                                                             Together together) {
  PC_TRY(auto made, make(std::move(schema), std::move(prompt), Stopwatch(), together));
  return std::shared_ptr<const LoadedPrompt>(std::move(made));
}

Result<std::shared_ptr<const LoadedPrompt>> LoadedPrompt::with_modules(Together together) const {
  auto prompt = std::make_shared<LoadedPrompt>(*this);
  if (written.children.empty())
    return std::shared_ptr<const LoadedPrompt>(
        std::move(prompt));  // it imports none, or is made of tokens
  PC_TRY(prompt->plan, schema->plan(written, together));
  prompt->plan.remarks = plan.remarks;
  prompt->modules = schema->modules_of(prompt->plan);
  return std::shared_ptr<const LoadedPrompt>(std::move(prompt));
}

Result<std::shared_ptr<const LoadedPrompt>> LoadedPrompt::of_messages(
    std::shared_ptr<LoadedSchema> schema, std::span<const pml::Message> messages) {
  const Stopwatch watch;
  PC_TRY(pml::Prompt prompt, pml::prompt_of(schema->layout().schema, messages));
  return planned(std::move(schema), std::move(prompt), watch);
}

Result<std::shared_ptr<const LoadedPrompt>> LoadedPrompt::of_text(
    std::shared_ptr<LoadedSchema> schema, std::string_view text) {
  const Stopwatch watch;
  pml::Prompt prompt = pml::prompt_of(schema->layout().schema, text);
  return planned(std::move(schema), std::move(prompt), watch);
}

Result<std::shared_ptr<const LoadedPrompt>> LoadedPrompt::of_tokens(
    std::shared_ptr<LoadedSchema> schema, std::span<const TokenId> tokens) {
  return of_tokens_since(std::move(schema), tokens, Stopwatch());
}

Result<std::shared_ptr<const LoadedPrompt>> LoadedPrompt::of_raw_text(
    std::shared_ptr<LoadedSchema> schema, std::string_view text, Engine::TextRules rules) {
  const Stopwatch watch;
  rules.opens = !schema->has_own_text();
  rules.bos = rules.bos && rules.opens;
  PC_TRY(const Tokens tokens, schema->engine().tokenize(text, rules));
  return of_tokens_since(std::move(schema), tokens, watch, text);
}

Result<std::shared_ptr<const LoadedPrompt>> LoadedPrompt::of_chat(
    std::shared_ptr<LoadedSchema> schema, pml::Prompt chat, bool ends_in_answer,
    std::vector<std::string> remarks, std::uint64_t plan_us) {
  PC_TRY(auto prompt, make(std::move(schema), std::move(chat), Stopwatch()));
  prompt->plan.remarks.insert(prompt->plan.remarks.end(), remarks.begin(), remarks.end());
  prompt->is_chat = true;
  prompt->ends_in_answer = ends_in_answer;
  prompt->plan_us += plan_us;
  return std::shared_ptr<const LoadedPrompt>(std::move(prompt));
}

Result<std::shared_ptr<const LoadedPrompt>> LoadedPrompt::on_cpu(
    const volatile std::int32_t* cancel) const {
  auto prompt = std::make_shared<LoadedPrompt>(*this);
  PC_TRY(prompt->schema, schema->on_cpu(cancel));
  prompt->modules = prompt->schema->modules_of(plan);
  return std::shared_ptr<const LoadedPrompt>(std::move(prompt));
}

Status LoadedPrompt::check_window(std::uint32_t answer_tokens, bool reuse) const {
  const std::uint64_t window = schema->engine().context_tokens();
  const auto end = static_cast<std::uint64_t>(plan.end);
  if (end + answer_tokens > window) {
    return error(Code::kContextFull,
                 "the prompt ends at position " + std::to_string(end) +
                     " and its answer may take " + std::to_string(answer_tokens) +
                     " tokens, but the context window has " + schema->engine().context_words() +
                     (modules.empty() ? ": shorten it" : ": import fewer modules") +
                     ", or ask for a shorter answer");
  }
  if (!reuse) return ok();
  for (const auto& module : modules) PC_CHECK_OK(schema->check_size(*module));
  return ok();
}

std::optional<std::uint32_t> LoadedPrompt::n_opening() const {
  if (!plan.chat) return std::nullopt;
  return opening_tokens(schema->engine().tokenizer(), opening_run(plan.runs.back()),
                        plan.chat->texts.answer);
}

pml::Begins LoadedPrompt::begins() const {
  if (plan.chat || (is_chat && !ends_in_answer)) return pml::Begins::kOwnText;
  const Tokenizer& tokenizer = schema->engine().tokenizer();
  const auto is_text = [&](TokenId token) { return !tokenizer.bytes(token).empty(); };
  const auto has_text = [&](const pml::PlanRun& run) {
    return std::ranges::any_of(run.tokens, is_text);
  };
  return std::ranges::any_of(plan.runs, has_text) ? pml::Begins::kAmidText : pml::Begins::kOwnText;
}

Tokens opening_run(const pml::PlanRun& last) {
  const bool is_opening = last.kind == pml::RunKind::kRole && last.turn == pml::kNone;
  return is_opening ? last.tokens : Tokens();
}

bool LoadedPrompt::is_exact(std::size_t index) const {
  const pml::PlanRun& run = plan.runs[index];
  std::vector<Seen> in_plan, in_pass;
  for (std::size_t i = 0; i < index; ++i)
    add(&in_plan, plan.runs[i].tokens, plan.runs[i].position, run.position);
  std::uint32_t n_kept = 0;
  for (const pml::JobRun& passed : modules[run.job]->job.runs) {
    if (passed.keep && n_kept++ == run.job_run) {
      for (Seen& seen : in_pass) seen.first += passed.position;
      break;
    }
    add(&in_pass, passed.tokens, passed.position, 0);
  }
  return in_plan == in_pass;
}

ImportSet LoadedPrompt::side_by_side() const {
  const pml::Layout& layout = schema->layout();
  std::set<std::uint32_t> imported, around;  // around: those that others stand in, which see them
  bool all_exact = layout.attend == pml::Attend::kSchema;  // with the others, no two are
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    const pml::PlanRun& run = plan.runs[i];
    if (run.kind != pml::RunKind::kCached || modules[run.job]->job.scaffold) continue;
    all_exact = all_exact && is_exact(i);
    for (auto m = layout.pieces[run.piece].module; m != pml::kRoot; m = layout.modules[m].parent) {
      imported.insert(m);
      around.insert(layout.modules[m].parent);
    }
  }
  const auto is_leaf = [&](std::uint32_t module) { return !around.contains(module); };
  if (all_exact || std::ranges::count_if(imported, is_leaf) < 2) return {};
  ImportSet paths;
  for (const std::uint32_t module : imported)
    if (layout.modules[module].cache) paths.push_back(layout.modules[module].path);
  return paths.size() < 2 ? ImportSet() : paths;
}

const pml::Repair& LoadedPrompt::repair_of(const pml::PlanRun& run,
                                           const std::optional<pml::Repair>& asked) const {
  static const pml::Repair kNone;
  const pml::Repair& repair = asked            ? *asked
                              : written.repair ? *written.repair
                                               : schema->repair_of(run);
  return repair.is_partial() && schema->engine().model().is_recurrent() ? kNone : repair;
}

std::vector<PlacedRun> LoadedPrompt::placed_runs() const {
  std::vector<PlacedRun> placed;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    const pml::PlanRun& run = plan.runs[i];
    const bool cached = run.kind == pml::RunKind::kCached;
    const Digest* module = cached ? &modules[run.job]->key.digest : nullptr;
    placed.push_back({&run, run.position, module, nullptr, !cached || is_exact(i)});
    if (!placed.back().exact) placed.back().repair = repair_of(run, std::nullopt);
  }
  return placed;
}

namespace {

// What a template writes between two texts, or behind the last.
class Between {
 public:
  Between(const Engine& engine, const Tokens& tokens) : engine_(engine), tokens_(tokens) {}

  // Does it go on with the turn of the text before it, with calls of tools behind an answer's text?
  // Then the turn ends amid it. opening: what opens the next answer, which stands behind a user's.
  bool goes_on(const Tokens& opening) const {
    const auto end =
        std::ranges::find_if(tokens_, [this](TokenId t) { return engine_.ends_turn(t); });
    if (end == tokens_.end() ||
        std::all_of(tokens_.begin(), end, [this](TokenId t) { return is_blank(t); }))
      return false;
    return opening.empty() || tokens_.size() < opening.size() ||
           !std::equal(opening.begin(), opening.end(), tokens_.begin());
  }

  // Appends it, but for the first n_done tokens; a turn that it writes itself ends in front of the
  // token that says so, where the session ended it that drew the turn as an answer.
  void append_to(Chain* chain, Position position, std::size_t n_done, bool may_be_stored) const {
    for (std::size_t i = n_done; i < tokens_.size(); ++i) {
      if (engine_.ends_turn(tokens_[i])) chain->end_turn();
      chain->append({&tokens_[i], 1}, position + static_cast<Position>(i), may_be_stored);
    }
  }

 private:
  bool is_blank(TokenId token) const {
    const std::string_view bytes = engine_.tokenizer().bytes(token);
    return !bytes.empty() && bytes.find_first_not_of(" \t\r\n") == std::string_view::npos;
  }

  const Engine& engine_;
  const Tokens& tokens_;
};

}  // namespace

Chain LoadedPrompt::chain(bool reuse, std::span<const Anew> anew) const {
  Chain chain(schema->identity());
  extend(&chain, {}, reuse, anew);
  return chain;
}

void LoadedPrompt::extend(Chain* chain, const Done& done, bool reuse,
                          std::span<const Anew> anew) const {
  const Tokens opening = plan.runs.empty() ? Tokens() : opening_run(plan.runs.back());
  ScatteredTokens between(schema->engine().model().desc);
  std::size_t n_left = done.n_tokens;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    const pml::PlanRun& run = plan.runs[i];
    if (run.kind == pml::RunKind::kCached && reuse) {
      if (done.n_tokens > 0 && run.position < done.end) continue;
      if (anew.empty() || is_attached(schema->engine().model().desc, anew[i], run.tokens.size()))
        chain->attach(modules[run.job]->key, run.job_run,
                      static_cast<std::uint32_t>(run.tokens.size()), run.position);
      if (!anew.empty()) between.add(anew[i], run.tokens, run.position);
      continue;
    }
    between.move_to(chain);
    const std::size_t n_done = std::min(n_left, run.tokens.size());
    n_left -= n_done;
    if (n_done != 0 && n_done == run.tokens.size()) continue;
    if (run.kind == pml::RunKind::kRole) {
      Between(schema->engine(), run.tokens).append_to(chain, run.position, n_done, run.cache);
      continue;
    }
    chain->append(std::span(run.tokens).subspan(n_done),
                  run.position + static_cast<Position>(n_done), run.cache);
    const bool closes = i + 1 < plan.runs.size() && plan.runs[i + 1].kind == pml::RunKind::kRole;
    if (run.kind == pml::RunKind::kText && closes &&
        !Between(schema->engine(), plan.runs[i + 1].tokens).goes_on(opening))
      chain->end_turn();
  }
  between.move_to(chain);
}

Position LoadedPrompt::findable_end() const {
  if (!schema->engine().store()) return 0;
  return plan.end - static_cast<Position>(std::max(n_opening().value_or(1), 1u));
}

}  // namespace pc
