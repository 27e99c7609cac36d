#include "runtime/session/session.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/progress.h"  // cancelled, is_set
#include "runtime/scheduler/log.h"
#include "runtime/scheduler/stopwatch.h"

namespace pc {
namespace {

constexpr std::uint32_t kDefaultMaxTokens = 256;

Status check_scores(const PromptScores& scores) {
  if (!scores.not_finite()) return ok();
  return error(Code::kNotFinite, "the model computed logits that are not finite, behind token " +
                                     std::to_string(*scores.not_finite()) + " of the prompt");
}

Status check_scoring(const std::optional<PromptScoring>& scoring) {
  if (!scoring || scoring->n_top <= PromptScoring::kMostTop) return ok();
  return error(Code::kInvalidArgument,
               "the likeliest tokens beside each of a prompt's are at most " +
                   std::to_string(PromptScoring::kMostTop) + ", not " +
                   std::to_string(scoring->n_top));
}

}  // namespace

Result<std::unique_ptr<Session>> Session::open(std::shared_ptr<const LoadedPrompt> prompt,
                                               const SessionOptions& options) {
  PC_CHECK_OK(
      check_sampler_options(options.sampler, prompt->schema->engine().model().desc.vocab_size));
  PC_CHECK_OK(check_scoring(options.scoring));
  PC_CHECK_OK(prompt->check_window(options.least_answer(), !options.no_reuse));
  PC_CHECK_OK(prompt->schema->engine().check_weights());
  return std::unique_ptr<Session>(new Session(std::move(prompt), options, {}));
}

Session::Session(std::shared_ptr<const LoadedPrompt> prompt, const SessionOptions& options,
                 std::optional<std::uint32_t> max_tokens)
    : prompt_(std::move(prompt)),
      options_(options),
      client_(options.client.empty() ? 0 : std::hash<std::string>()(options.client)),
      residents_(prompt_->modules.size()),
      sampler_(options.sampler, engine().model().desc.vocab_size),
      text_(engine().tokenizer(), options.stop, options.controls),
      position_(prompt_->plan.end),
      chain_(prompt_->schema->identity()),
      cuts_(cuts_of_prompt()),
      open_{position_, prompt_->plan.chat, prompt_->n_opening()} {
  begin_answer(answer_room(max_tokens ? *max_tokens : max_tokens_behind(position_)));
  stats_.plan_us = prompt_->plan_us;
}

// Of an answer there: as many as are asked for or, where that may be cut, as the window has room
// for.
std::uint32_t Session::max_tokens_behind(Position position) const {
  const std::uint32_t asked = options_.max_tokens.value_or(kDefaultMaxTokens);
  if (slides() || (options_.max_tokens && !options_.cut_to_window)) return asked;
  return std::min(asked, engine().context_tokens() - static_cast<std::uint32_t>(position));
}

Status Session::prefill() {
  return call([this]() -> Status {
    if (broken_) return *broken_;
    if (timeline_ && !task_) return ok();
    const Status done = finish_computing();
    return done.ok() ? ok() : Status(failed(done.error()));
  });
}

Status Session::begin_computing() {
  if (!timeline_ && !begun_) begun_.emplace();
  const Status begun = begin_task();
  if (!goes_to_cpu(begun)) return begun;
  PC_CHECK_OK(go_to_cpu(begun.error()));
  return begin_task();
}

Status Session::finish_computing() {
  while (true) {
    PC_CHECK_OK(begin_computing());
    const bool resumes = resumes_;  // what was under way comes behind it
    const Status computed = finish_task();
    if (goes_to_cpu(computed))
      PC_CHECK_OK(go_to_cpu(computed.error()));
    else if (!computed.ok() || !resumes)
      return computed;
  }
}

// What the next token is drawn from: logits of the prompt, or behind the token drawn last. Where
// the answer is as long as it may be, that token is left.
Status Session::begin_task() {
  is_ahead_ = false;
  if (task_) return ok();
  if (!timeline_) return resumes_ ? begin_resuming() : begin_prefill();
  if (is_set(&cancel_)) return cancelled();
  if (token_ < 0 || answer_.size() >= max_tokens_) return ok();
  PC_TRY(is_ahead_, take_drafted());
  if (is_ahead_) return ok();
  PC_TRY(const bool has_room, make_room());
  if (!has_room) max_tokens_ = static_cast<std::uint32_t>(answer_.size());  // it ends as any does
  return has_room ? begin_step(logits_.data()) : ok();
}

Status Session::finish_task() {
  if (!task_) return ok();
  // An error of the call leaves the work as it was, to be gone on with.
  if (!task_->finished()) {
    const Status computed = compute(*task_);
    if (!task_->finished()) return computed;
  }
  return end_computing();
}

// Precondition: the task is finished.
Status Session::end_computing() {
  const Status computed = task_->result();
  if (!prefill_ && task_->lost_place()) broken_ = computed.error();
  task_.reset();
  return prefill_ ? end_prefill(computed) : end_step(computed);
}

// Finds or encodes the modules; what is fresh is computed with them in place.
Status Session::begin_prefill() {
  stats_ = {};
  stats_.plan_us = prompt_->plan_us;
  const bool reuse = may_reuse_modules();
  const Stopwatch watch;
  PC_TRY(BackendTimeline timeline, engine().backend().timeline());
  std::vector<Anew> anew;
  if (reuse) {
    std::vector<PlacedRun> runs;
    if (has_repairs()) runs = prompt_->placed_runs();
    PC_CHECK_OK(put_repairs(runs));
    PC_CHECK_OK(pin_modules());
    stats_.lookup_us = watch.microseconds() - stats_.encode_us;
    const Stopwatch choose_watch;
    PC_TRY(anew, choose_anew(timeline, std::move(runs)));
    stats_.prefill_us = choose_watch.microseconds();
  }
  PC_TRY(Chain chain, attach_found(&timeline, reuse, anew));
  Prefill prefill{*begun_, {}, std::move(chain), std::move(timeline), {}};
  prefill.compute_watch = {};
  prefill.chain.add_missing(&prefill.runs);
  for (const pc_run& run : prefill.runs) stats_.computed_tokens += run.n_tokens;
  stats_.prompt_tokens = stats_.cached_tokens + stats_.computed_tokens;
  logits_.resize(engine().model().desc.vocab_size);
  if (options_.scoring)
    prefill.scores =
        std::make_shared<PromptScores>(prompt_tokens(), *options_.scoring, stats_.computed_tokens,
                                       engine().model().desc.vocab_size);
  prefill_ = std::make_unique<Prefill>(std::move(prefill));
  Work all = work(&prefill_->timeline, prefill_->runs, logits_.data());
  if (PromptScores* const scores = prefill_->scores.get();
      scores && scores->first() != scores->end()) {
    all.rows = scores;
    all.first_row = scores->first_row();
  }
  task_.emplace(all);
  return ok();
}

Status Session::end_prefill(const Status& computed) {
  const std::unique_ptr<Prefill> prefill = std::move(prefill_);
  if (!computed.ok()) return computed.error();
  if (prefill->scores) PC_CHECK_OK(check_scores(*prefill->scores));
  begun_.reset();
  prefill->chain.computed();
  chain_ = std::move(prefill->chain);
  timeline_ = std::move(prefill->timeline);
  if (std::exchange(resumes_, false)) {
    move_us_ = moves_.microseconds();
    return ok();
  }
  scores_ = std::move(prefill->scores);
  open_.read.n_attached = timeline_->n_attached();
  open_.read.n_schema_runs = schema_runs(prompt_->plan.runs);
  for (const pml::PlanRun& run : prompt_->plan.runs)
    for (const TokenId token : run.tokens) sampler_.observe(token);
  stats_.prefill_us += prefill->compute_watch.microseconds();
  stats_.ttft_us = stats_.plan_us + prefill->watch.microseconds();
  if (stats_.modules_found > 1 && !options_.checked_repair) count_imports();
  return ok();
}

void Session::count_imports() const {
  const ImportSet set = prompt_->side_by_side();
  if (!set.empty()) prompt_->schema->import_sets().add(set);
}

Tokens Session::prompt_tokens() const {
  Tokens tokens;
  for (const pml::PlanRun& run : prompt_->plan.runs)
    tokens.insert(tokens.end(), run.tokens.begin(), run.tokens.end());
  return tokens;
}

// The position from which on tokens are computed, for their logits; none where no logits but the
// last are wanted.
std::optional<Position> Session::first_row_wanted() const {
  if (!options_.scoring) return std::nullopt;
  std::size_t left = options_.scoring->first_scored() - 1;
  for (const pml::PlanRun& run : prompt_->plan.runs) {
    if (left < run.tokens.size()) return run.position + static_cast<Position>(left);
    left -= run.tokens.size();
  }
  return std::nullopt;
}

bool Session::may_reuse_modules() const {
  const auto wanted = first_row_wanted();
  return !options_.no_reuse &&
         std::ranges::none_of(prompt_->plan.runs, [&](const pml::PlanRun& run) {
           const auto end = run.position + static_cast<Position>(run.tokens.size());
           return run.kind == pml::RunKind::kCached && wanted && end > *wanted;
         });
}

// Every module that the plan uses, found or encoded.
Status Session::pin_modules() {
  LoadedSchema& schema = *prompt_->schema;
  Encoder encoder(engine().scheduler(), engine().store());
  encoded_.assign(residents_.size(), false);
  for (std::size_t i = 0; i < residents_.size(); ++i) {
    const Stopwatch watch;
    PC_TRY(AcquiredModule module, schema.acquire(*prompt_->modules[i], encoder, &cancel_));
    PC_TRY(residents_[i], engine().backend().resident(std::move(module.module)));
    ++stats_.modules_found;
    encoded_[i] = module.source == ModuleSource::kEncoded;
    if (encoded_[i]) {
      ++stats_.modules_encoded;
      stats_.encode_us += watch.microseconds();
    }
  }
  return ok();
}

// Which runs are exact need not be found out otherwise.
bool Session::has_repairs() const {
  if (options_.checked_repair) return true;
  return std::ranges::any_of(prompt_->plan.runs, [this](const pml::PlanRun& run) {
    return run.kind == pml::RunKind::kCached &&
           prompt_->repair_of(run, options_.repair).kind != pml::Repair::Kind::kNone;
  });
}

// The repairs of runs that are not exact. What auto stands for stays the same for a conversation.
Status Session::put_repairs(std::span<PlacedRun> runs) {
  const LoadedSchema& schema = *prompt_->schema;
  for (PlacedRun& run : runs) {
    if (run.exact) continue;
    run.repair = options_.checked_repair
                     ? schema.own_repair(*run.run).value_or(*options_.checked_repair)
                     : prompt_->repair_of(*run.run, options_.repair);
    if (run.repair.kind != pml::Repair::Kind::kAuto) continue;
    if (!auto_repair_) {
      PC_TRY(auto_repair_, schema.verdict());
    }
    run.repair = *auto_repair_;
  }
  return ok();
}

// Of each run, the tokens of modules that are computed all the same; without runs, none.
Result<std::vector<Anew>> Session::choose_anew(const BackendTimeline& timeline,
                                               std::vector<PlacedRun> runs) const {
  if (runs.empty()) return std::vector<Anew>(prompt_->plan.runs.size());
  for (PlacedRun& placed : runs)
    if (placed.module) placed.resident = residents_[placed.run->job];
  return pc::choose_anew(runs, {timeline, client_}, engine().scheduler(), &cancel_);
}

// Runs of modules are attached where they lie.
Status Session::attach_modules(BackendTimeline* timeline, std::span<const Anew> anew) {
  open_.read.n_module_tokens = 0;
  for (std::size_t i = 0; i < anew.size(); ++i) {
    const pml::PlanRun& run = prompt_->plan.runs[i];
    if (run.kind != pml::RunKind::kCached) continue;
    const ResidentHandle& resident = residents_[run.job];
    // Fewer than the file's tokens where the last one is fresh.
    const auto n = static_cast<std::uint32_t>(run.tokens.size());
    const std::vector<std::uint32_t> hidden = hidden_bits(anew[i], n);
    PC_CHECK_OK(timeline->attach(
        resident, {run.job_run, 0, n, run.position, hidden.empty() ? nullptr : hidden.data()}));
    open_.read.n_module_tokens += n - anew[i].size();
    if (encoded_[run.job]) stats_.encoded_tokens += n - anew[i].size();
    stats_.repaired_tokens += anew[i].size();
    stats_.cached_bytes += resident->module().geometry().state_bytes(kv_blocks(n));
  }
  stats_.cached_tokens = open_.read.n_module_tokens;
  return ok();
}

// What the prompt's chain is to be: with links that another conversation kept.
Result<Chain> Session::attach_found(BackendTimeline* timeline, bool reuse,
                                    std::span<const Anew> anew) {
  if (options_.no_reuse) return prompt_->chain(reuse, anew);
  const Stopwatch watch;
  if (reuse) PC_CHECK_OK(attach_modules(timeline, anew));
  const Position end = first_row_wanted().value_or(prompt_->plan.end);
  FoundChain found = find_links(*prompt_, {reuse, anew, end, options_.moves});
  PC_CHECK_OK(attach_links(timeline, &found));
  stats_.lookup_us += watch.microseconds();
  return std::move(found.chain);
}

Status Session::attach_links(BackendTimeline* timeline, FoundChain* found) {
  for (std::size_t i = 0; i < found->lookups.size(); ++i) {
    Lookup& lookup = found->lookups[i];
    if (!lookup && lookup.miss != MissReason::kNone && lookup.miss != MissReason::kNotEncoded)
      log(LogLevel::kWarning, "what was kept of a conversation is not used: " + lookup.why);
    if (!lookup) continue;
    const Chain::Link& link = found->chain.links()[i];
    PC_TRY(const ResidentHandle resident, engine().backend().resident(std::move(lookup.module)));
    const auto n = static_cast<std::uint32_t>(link.tokens.size());
    PC_CHECK_OK(timeline->attach(resident, {0, link.first, n, link.position, nullptr}));
    stats_.chained_tokens += n;
    stats_.cached_bytes += resident->module().geometry().state_bytes(kv_blocks(n));
  }
  stats_.cached_tokens += stats_.chained_tokens;
  stats_.moved_tokens = found->chain.n_moved();
  return ok();
}

Work Session::work(BackendTimeline* timeline, std::span<const pc_run> runs, float* logits) const {
  return {
      .timeline = timeline, .runs = runs, .logits = logits, .cancel = &cancel_, .client = client_};
}

Status Session::compute(BackendTimeline* timeline, std::span<const pc_run> runs, float* logits) {
  Task task(work(timeline, runs, logits));
  return compute(task);
}

// A single token takes no time that is worth telling.
Status Session::compute(Task& task) {
  std::exception_ptr thrown;  // the scheduler's lock must not see it
  const auto tell = [&](std::uint64_t n_done, std::uint64_t n_tokens) {
    try {
      if (!thrown && !options_.progress(n_done, n_tokens)) cancel();
    } catch (...) {
      thrown = std::current_exception();
      cancel();
    }
  };
  Scheduler::Progress progress;
  if (options_.progress && task.n_tokens() > 1 && !task.is_step()) progress = tell;
  Status computed = engine().scheduler().compute(task, progress);
  if (thrown) std::rethrow_exception(thrown);
  return computed;
}

Result<std::optional<TokenId>> Session::next() {
  return call([this] {
    draft_room_ = Drafts::room_beside(engine().scheduler().n_waiting());
    return next_token();
  });
}

Result<std::optional<TokenId>> Session::next_token() {
  if (stats_.finish != Finish::kNone) {
    text_.clear();
    return std::optional<TokenId>();
  }
  if (broken_) return *broken_;
  if (const Status computed = finish_computing(); !computed.ok()) return failed(computed.error());
  return draw_next();
}

// A session whose prompt could not be computed may try again, and so may one that was cancelled or
// that memory was short for. An answer that is over stays so.
Error Session::failed(const Error& error) {
  begun_.reset();
  const bool is_cancelled = error.code == Code::kCancelled;
  if (is_cancelled && stats_.finish == Finish::kNone) stats_.finish = Finish::kCancelled;
  if (!is_cancelled && (timeline_ || resumes_) && error.code != Code::kOutOfMemory) broken_ = error;
  return error;
}

// The logits are there.
Result<std::optional<TokenId>> Session::draw_next() {
  if (is_set(&cancel_)) return failed(cancelled());
  if (answer_.size() >= max_tokens_) return finish(Finish::kLength);
  const Stopwatch watch;
  PC_CHECK_OK(draw());
  const std::uint64_t took =
      std::exchange(step_us_, 0) + std::exchange(move_us_, 0) + watch.microseconds();
  (stats_.generated_tokens == 0 ? stats_.ttft_us : stats_.decode_us) += took;
  return take_drawn();
}

Result<std::optional<TokenId>> Session::take_drawn() {
  if (engine().ends_turn(token_)) {
    sampler_.forget(token_);
    stats_.end_token = token_;
    token_ = -1;  // what closes the turn is the chat format's
    return finish(Finish::kEos);
  }
  ++stats_.generated_tokens;
  answer_.push_back(token_);
  if (text_.push(token_)) {
    stats_.finish = Finish::kStop;
    stats_.stop = text_.stop();
  }
  return std::optional<TokenId>(token_);
}

// The next token, from the logits. A failure changes nothing: it may be drawn again.
Status Session::draw() {
  if (options_.mask) {
    allowed_.assign((logits_.size() + 31) / 32, ~std::uint32_t{0});
    if (!options_.mask(allowed_)) return cancelled();
  }
  token_ = sampler_.sample(logits_, allowed_);
  if (token_ >= 0) return ok();
  return error(Code::kInvalidArgument, "no token may be drawn: the mask or the bias forbids all");
}

// The token drawn last, whose logits are the next one's, and what may follow it.
Status Session::begin_step(float* logits) {
  step_watch_ = {};
  drafts_.clear();
  chain_.append({&token_, 1}, position_);
  step_run_ = chain_.links().back().run();
  Work step = work(&*timeline_, {&step_run_, 1}, logits);
  step.is_step = true;
  if (logits && draft()) {
    step.logits = nullptr;
    step.rows = &drafts_;
  }
  task_.emplace(step);
  return ok();
}

Status Session::end_step(const Status& computed) {
  if (!computed.ok()) {
    drafts_.clear();
    lookup_.reset();
    chain_.rewind(position_);
    return computed.error();
  }
  chain_.computed();
  token_ = -1;
  ++position_;
  step_us_ = step_watch_.microseconds();
  drafts_.computed(&logits_);
  return drafts_.n_ahead() == 0 ? ok() : check_drafted_logits();
}

Status Session::step_unread_token() {
  PC_TRY(const bool is_computed, take_drafted());
  if (is_computed) return drop_drafts();
  for (int tries = 0; tries < 2 && token_ >= 0; ++tries) {  // a move leaves it unread
    PC_CHECK_OK(begin_step(nullptr));
    PC_CHECK_OK(finish_computing());
  }
  return ok();
}

std::optional<TokenId> Session::finish(Finish how) {
  stats_.finish = how;
  text_.finish();
  return std::nullopt;
}

}  // namespace pc
