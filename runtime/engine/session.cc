#include "runtime/engine/session.h"

#include <algorithm>
#include <utility>

#include "runtime/engine/stopwatch.h"

namespace pc {
namespace {

constexpr std::uint32_t kDefaultMaxTokens = 256;

}  // namespace

Result<std::shared_ptr<const LoadedPrompt>> LoadedPrompt::parse(
    std::shared_ptr<LoadedSchema> schema, std::string_view pml) {
  const Stopwatch watch;
  auto prompt = std::make_shared<LoadedPrompt>();
  PC_TRY(prompt->plan, schema->plan(pml));
  prompt->modules = schema->modules_of(prompt->plan);
  prompt->schema = std::move(schema);
  prompt->plan_us = watch.microseconds();
  return std::shared_ptr<const LoadedPrompt>(std::move(prompt));
}

Status LoadedPrompt::check_window(std::uint32_t answer_tokens, bool reuse) const {
  const std::uint64_t window = schema->engine().context_tokens();
  const auto end = static_cast<std::uint64_t>(plan.end);
  if (end + answer_tokens > window) {
    return error(Code::kContextFull,
                 "the prompt ends at position " + std::to_string(end) +
                     " and its answer may take " + std::to_string(answer_tokens) +
                     " tokens, but the context window has " + std::to_string(window) +
                     ": import fewer modules, or ask for a shorter answer");
  }
  if (!reuse) return ok();
  for (const auto& module : modules) PC_CHECK_OK(schema->check_window(module->job));
  return ok();
}

Result<std::unique_ptr<Session>> Session::open(std::shared_ptr<const LoadedPrompt> prompt,
                                               const SessionOptions& options) {
  PC_CHECK_OK(check_sampler_options(options.sampler));
  PC_CHECK_OK(prompt->check_window(std::max(options.max_tokens, 1u), !options.no_reuse));
  const std::uint64_t window = prompt->schema->engine().context_tokens();
  const auto end = static_cast<std::uint64_t>(prompt->plan.end);
  const std::uint64_t room = window - end;
  const auto max_tokens =
      options.max_tokens
          ? options.max_tokens
          : static_cast<std::uint32_t>(std::min<std::uint64_t>(kDefaultMaxTokens, room));
  return std::unique_ptr<Session>(new Session(std::move(prompt), options, max_tokens));
}

Session::Session(std::shared_ptr<const LoadedPrompt> prompt, const SessionOptions& options,
                 std::uint32_t max_tokens)
    : prompt_(std::move(prompt)),
      options_(options),
      max_tokens_(max_tokens),
      residents_(prompt_->modules.size()),
      sampler_(options.sampler, prompt_->schema->engine().model().desc.vocab_size),
      text_(prompt_->schema->engine().tokenizer(), options.stop),
      position_(prompt_->plan.end) {
  stats_.plan_us = prompt_->plan_us;
}

Status Session::prefill() {
  if (timeline_) return ok();
  if (stats_.finish == Finish::kCancelled) return error(Code::kCancelled, "cancelled");
  const Status done = find_and_compute();
  if (!done.ok() && done.error().code == Code::kCancelled) stats_.finish = Finish::kCancelled;
  return done;
}

Status Session::find_and_compute() {
  const Stopwatch watch;
  stats_ = {};
  stats_.plan_us = prompt_->plan_us;
  if (!options_.no_reuse) PC_CHECK_OK(pin_modules());
  stats_.lookup_us = watch.microseconds() - stats_.encode_us;

  const Stopwatch compute_watch;
  PC_TRY(BackendTimeline timeline, prompt_->schema->engine().backend().timeline());
  std::vector<pc_run> fresh;
  for (const pml::PlanRun& run : prompt_->plan.runs) PC_CHECK_OK(use_run(run, &timeline, &fresh));
  logits_.resize(prompt_->schema->engine().model().desc.vocab_size);
  PC_CHECK_OK(compute(&timeline, fresh));
  timeline_ = std::move(timeline);
  stats_.prefill_us = compute_watch.microseconds();
  stats_.ttft_us = stats_.plan_us + watch.microseconds();
  return ok();
}

// Every module that the plan uses, found or encoded.
Status Session::pin_modules() {
  LoadedSchema& schema = *prompt_->schema;
  Encoder encoder(schema.engine().scheduler());
  for (std::size_t i = 0; i < residents_.size(); ++i) {
    const Stopwatch watch;
    PC_TRY(AcquiredModule module, schema.acquire(*prompt_->modules[i], encoder, &cancel_));
    PC_TRY(residents_[i], schema.engine().backend().resident(std::move(module.module)));
    ++stats_.modules_found;
    if (module.source == ModuleSource::kEncoded) {
      ++stats_.modules_encoded;
      stats_.encode_us += watch.microseconds();
    }
  }
  return ok();
}

// A run is attached where its module lies, or becomes tokens to compute.
Status Session::use_run(const pml::PlanRun& run, BackendTimeline* timeline,
                        std::vector<pc_run>* fresh) {
  const auto n = static_cast<std::uint32_t>(run.tokens.size());
  for (const TokenId token : run.tokens) sampler_.observe(token);
  stats_.prompt_tokens += n;
  if (run.kind == pml::RunKind::kCached && !options_.no_reuse) {
    const ResidentHandle& resident = residents_[run.job];
    // n is fewer than the file's tokens where the last one is fresh.
    PC_CHECK_OK(timeline->attach(resident, run.job_run, n, run.position));
    stats_.cached_tokens += n;
    stats_.cached_bytes += resident->module().geometry().state_bytes(kv_blocks(n));
    return ok();
  }
  fresh->push_back({run.tokens.data(), n, run.position, run.position, 1, nullptr});
  stats_.computed_tokens += n;
  return ok();
}

Status Session::compute(BackendTimeline* timeline, std::span<const pc_run> runs) {
  return prompt_->schema->engine().scheduler().compute(
      {.timeline = timeline, .runs = runs, .logits = logits_.data(), .cancel = &cancel_});
}

Result<std::optional<TokenId>> Session::next() {
  if (stats_.finish != Finish::kNone) {
    text_.clear();
    return std::optional<TokenId>();
  }
  if (broken_) return *broken_;
  auto token = advance();
  if (token.ok()) return token;
  if (token.error().code == Code::kCancelled)
    stats_.finish = Finish::kCancelled;
  else if (timeline_)
    broken_ = token.error();
  return token;
}

Result<std::optional<TokenId>> Session::advance() {
  const bool first = stats_.generated_tokens == 0;
  if (first) PC_CHECK_OK(prefill());
  if (__atomic_load_n(&cancel_, __ATOMIC_RELAXED)) return error(Code::kCancelled, "cancelled");
  if (stats_.generated_tokens == max_tokens_) return finish(Finish::kLength);
  const Stopwatch watch;
  if (!first) PC_CHECK_OK(step());
  token_ = sampler_.sample(logits_);
  (first ? stats_.ttft_us : stats_.decode_us) += watch.microseconds();
  if (prompt_->schema->engine().ends_turn(token_)) return finish(Finish::kEos);
  ++stats_.generated_tokens;
  if (text_.push(token_)) stats_.finish = Finish::kStop;
  return std::optional<TokenId>(token_);
}

// Computes the drawn token; its logits are the next one's.
Status Session::step() {
  const pc_run run{&token_, 1, position_, position_, 1, nullptr};
  PC_CHECK_OK(compute(&*timeline_, {&run, 1}));
  ++position_;
  return ok();
}

std::optional<TokenId> Session::finish(Finish how) {
  stats_.finish = how;
  text_.finish();
  return std::nullopt;
}

}  // namespace pc
