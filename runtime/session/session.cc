#include "runtime/session/session.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "base/progress.h"  // cancelled, is_set

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
  return std::unique_ptr<Session>(new Session(std::move(prompt), options));
}

Session::Session(std::shared_ptr<const LoadedPrompt> prompt, const SessionOptions& options)
    : asked_(std::move(prompt)),
      options_(options),
      repairs_(options.repair, options.checked_repair),
      conversation_(asked_),
      answer_(engine(), options_),
      run_(engine(), {options.client.empty() ? 0 : std::hash<std::string>()(options.client),
                      &cancel_, &options_.progress}) {
  begin_answer(answer_room(conversation_.open(), position()));
  read_.plan_us = asked_->plan_us;
}

// Of an answer there: as many as are asked for or, where that may be cut, as the window has room
// for.
std::uint32_t Session::max_tokens_behind(Position position, const SessionOptions& options) const {
  const std::uint32_t asked = options.max_tokens.value_or(kDefaultMaxTokens);
  const bool slides = options.overflow == Overflow::kSlide;
  if (slides || (options.max_tokens && !options.cut_to_window)) return asked;
  return std::min(asked, engine().context_tokens() - static_cast<std::uint32_t>(position));
}

Answer::Room Session::answer_room(const OpenAnswer& open, Position begin) const {
  return answer_.room(max_tokens_behind(begin, options_), open.begins, otherwise());
}

Status Session::prefill() {
  return call([this]() -> Status {
    if (broken_) return *broken_;
    if (run_.has_states() && !run_.is_at_work()) return ok();
    const Status done = finish_tasks();
    return done.ok() ? ok() : Status(failed(done.error()));
  });
}

Result<std::optional<TokenId>> Session::next() {
  return call([this] {
    draft_room_ = Drafts::room_beside(engine().scheduler().n_waiting());
    return next_token();
  });
}

Result<std::optional<TokenId>> Session::next_token() {
  if (answer_.is_over()) {
    answer_.no_text();
    return std::optional<TokenId>();
  }
  if (broken_) return *broken_;
  if (const Status computed = finish_tasks(); !computed.ok()) return failed(computed.error());
  return draw_next();
}

// A session whose prompt could not be computed may try again, and so may one that was cancelled or
// that memory was short for. An answer that is over stays so.
Error Session::failed(const Error& error) {
  begun_.reset();
  const bool is_cancelled = error.code == Code::kCancelled;
  if (is_cancelled) answer_.cancel();
  if (!is_cancelled && conversation_.is_read() && error.code != Code::kOutOfMemory) broken_ = error;
  return error;
}

// ---- Computing: what the next token is drawn from

Status Session::begin_task() {
  if (!run_.has_states() && !begun_) begun_.emplace();
  const Status begun = begin_here();
  if (!goes_to_cpu(begun)) return begun;
  PC_CHECK_OK(go_to_cpu(begun.error()));
  return begin_here();
}

// Logits of the prompt, or behind the token drawn last. Where the answer is as long as it may be,
// that token is left.
Status Session::begin_here() {
  is_ahead_ = false;
  if (run_.is_at_work()) return ok();
  if (!run_.has_states()) return begin_reading();
  if (is_set(&cancel_)) return cancelled();
  if (answer_.unread() < 0 || answer_.is_full()) return ok();
  PC_TRY(is_ahead_, take_drafted());
  if (is_ahead_) return ok();
  PC_TRY(const bool has_room, make_room());
  if (has_room) return begin_step(true);
  answer_.end_at_once();  // it ends as any does
  return ok();
}

// The prompt's modules are found or encoded, and what is fresh is computed with them in place; a
// conversation that moved is computed whole.
Status Session::begin_reading() {
  const auto reading = [this]() -> Result<Reading> {
    if (conversation_.is_read()) return read_again(engine(), conversation_.chain());
    return read_prompt(*conversation_.prompt(), {options_, run_.caller().client, &cancel_,
                                                 &repairs_, &run_.modules(), &read_});
  };
  PC_TRY(Reading begun, reading());
  run_.begin(std::move(begun), answer_.logits_to_compute());
  return ok();
}

Status Session::finish_tasks() {
  while (true) {
    PC_CHECK_OK(begin_task());
    const bool goes_on = reads_again();  // what was under way comes behind it
    const Status computed = finish_task();
    if (goes_to_cpu(computed))
      PC_CHECK_OK(go_to_cpu(computed.error()));
    else if (!computed.ok() || !goes_on)
      return computed;
  }
}

Status Session::finish_task() {
  if (!run_.is_at_work()) return ok();
  // An error of the call leaves the work as it was, to be gone on with.
  if (!run_.task()->finished()) {
    const Status computed = run_.go_on();
    if (!run_.task()->finished()) return computed;
  }
  return end_task();
}

// Precondition: the task is finished.
Status Session::end_task() {
  Run::Outcome outcome = run_.end();
  if (outcome.reading) return end_reading(std::move(*outcome.reading), outcome.computed);
  if (outcome.lost_place) broken_ = outcome.computed.error();
  return end_step(outcome.computed);
}

Status Session::end_reading(Reading reading, const Status& computed) {
  if (!computed.ok()) return computed.error();
  if (reading.scores) PC_CHECK_OK(check_scores(*reading.scores));
  const std::uint64_t waited_us = std::exchange(begun_, std::nullopt)->microseconds();
  run_.take(std::move(reading.timeline));
  if (conversation_.is_read()) {
    conversation_.read(std::move(reading.chain));
    move_us_ = waited_us;
    return ok();
  }
  conversation_.read_prompt(std::move(reading.chain), reading.n_module_tokens,
                            run_.timeline().n_attached());
  scores_ = std::move(reading.scores);
  const LoadedPrompt& prompt = *conversation_.prompt();
  for (const pml::PlanRun& run : prompt.plan.runs) answer_.observe(run.tokens);
  read_.prefill_us += reading.compute_watch.microseconds();
  read_.ttft_us = read_.plan_us + waited_us;
  if (read_.modules_found > 1 && !options_.checked_repair)
    if (const ImportSet set = prompt.side_by_side(); !set.empty())
      prompt.schema->import_sets().add(set);
  return ok();
}

// The token drawn last, whose logits are the next one's, and what may follow it.
Status Session::begin_step(bool draws) {
  step_watch_ = {};
  answer_.drop_drafts();
  pc_run run = conversation_.begin_token(answer_.unread());
  std::span<const TokenId> drafted;
  if (draws)
    drafted = answer_.draft(conversation_, most_drafted(), draft_room_ == Drafts::room_beside(0));
  if (drafted.empty()) {
    run_.begin_step(run, draws ? answer_.logits_to_compute() : nullptr, nullptr);
    return ok();
  }
  run.tokens = drafted.data();
  run.n_tokens = static_cast<std::uint32_t>(drafted.size());
  run_.begin_step(run, nullptr, answer_.draft_rows());
  return ok();
}

Status Session::end_step(const Status& computed) {
  if (!computed.ok()) {
    answer_.fail_step();
    conversation_.take_back_token();
    return computed.error();
  }
  conversation_.end_token();
  step_us_ = step_watch_.microseconds();
  answer_.end_step();
  return answer_.n_ahead() == 0 ? ok() : check_drafted_logits();
}

// ---- Drawing

// The logits are there.
Result<std::optional<TokenId>> Session::draw_next() {
  if (is_set(&cancel_)) return failed(cancelled());
  if (answer_.is_full()) return answer_.end(Finish::kLength);
  if (answer_.is_whole()) return answer_.end(Finish::kEos);
  const Stopwatch watch;
  PC_CHECK_OK(answer_.draw({owner_, position()}));
  const std::uint64_t took =
      std::exchange(step_us_, 0) + std::exchange(move_us_, 0) + watch.microseconds();
  if (answer_.stats().generated_tokens == 0)
    read_.ttft_us += took;
  else
    answer_.count_decoding(took);
  return answer_.take_drawn();
}

}  // namespace pc
