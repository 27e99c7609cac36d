#include "runtime/engine/session.h"

#include <algorithm>
#include <utility>

#include "base/progress.h"  // cancelled
#include "runtime/engine/stopwatch.h"

namespace pc {
namespace {

constexpr std::uint32_t kDefaultMaxTokens = 256;

}  // namespace

Result<std::unique_ptr<Session>> Session::open(std::shared_ptr<const LoadedPrompt> prompt,
                                               const SessionOptions& options) {
  PC_CHECK_OK(
      check_sampler_options(options.sampler, prompt->schema->engine().model().desc.vocab_size));
  PC_CHECK_OK(prompt->check_window(std::max(options.max_tokens, 1u), !options.no_reuse));
  return std::unique_ptr<Session>(new Session(std::move(prompt), options, options.max_tokens));
}

Session::Session(std::shared_ptr<const LoadedPrompt> prompt, const SessionOptions& options,
                 std::uint32_t max_tokens)
    : prompt_(std::move(prompt)),
      options_(options),
      residents_(prompt_->modules.size()),
      sampler_(options.sampler, engine().model().desc.vocab_size),
      text_(engine().tokenizer(), options.stop),
      position_(prompt_->plan.end),
      chain_(engine().base_identity()),
      open_{position_, prompt_->plan.chat, prompt_->n_opening()} {
  max_tokens_ = max_tokens ? max_tokens : default_max_tokens();
  begin_answer();
  stats_.plan_us = prompt_->plan_us;
}

// As many as the window has room for.
std::uint32_t Session::default_max_tokens() const {
  const auto room = engine().context_tokens() - static_cast<std::uint32_t>(position_);
  return std::min(kDefaultMaxTokens, room);
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
  const bool reuse = !options_.no_reuse;
  Chain chain = prompt_->chain(reuse);
  PC_TRY(BackendTimeline timeline, engine().backend().timeline());
  if (reuse) {
    PC_CHECK_OK(pin_modules());
    PC_CHECK_OK(attach_modules(&timeline));
    PC_CHECK_OK(attach_links(&timeline, &chain));
  }
  stats_.lookup_us = watch.microseconds() - stats_.encode_us;

  const Stopwatch compute_watch;
  std::vector<pc_run> fresh;
  chain.add_missing(&fresh);
  for (const pc_run& run : fresh) stats_.computed_tokens += run.n_tokens;
  stats_.prompt_tokens = stats_.cached_tokens + stats_.computed_tokens;
  logits_.resize(engine().model().desc.vocab_size);
  PC_CHECK_OK(compute(&timeline, fresh, logits_.data()));
  chain.computed();
  chain_ = std::move(chain);
  timeline_ = std::move(timeline);
  for (const pml::PlanRun& run : prompt_->plan.runs)
    for (const TokenId token : run.tokens) sampler_.observe(token);
  stats_.prefill_us = compute_watch.microseconds();
  stats_.ttft_us = stats_.plan_us + watch.microseconds();
  return ok();
}

// Every module that the plan uses, found or encoded.
Status Session::pin_modules() {
  LoadedSchema& schema = *prompt_->schema;
  Encoder encoder(engine().scheduler(), engine().store());
  for (std::size_t i = 0; i < residents_.size(); ++i) {
    const Stopwatch watch;
    PC_TRY(AcquiredModule module, schema.acquire(*prompt_->modules[i], encoder, &cancel_));
    PC_TRY(residents_[i], engine().backend().resident(std::move(module.module)));
    ++stats_.modules_found;
    if (module.source == ModuleSource::kEncoded) {
      ++stats_.modules_encoded;
      stats_.encode_us += watch.microseconds();
    }
  }
  return ok();
}

// Runs of modules are attached where they lie.
Status Session::attach_modules(BackendTimeline* timeline) {
  n_module_tokens_ = 0;
  for (const pml::PlanRun& run : prompt_->plan.runs) {
    if (run.kind != pml::RunKind::kCached) continue;
    const ResidentHandle& resident = residents_[run.job];
    // Fewer than the file's tokens where the last one is fresh.
    const auto n = static_cast<std::uint32_t>(run.tokens.size());
    PC_CHECK_OK(timeline->attach(resident, run.job_run, n, run.position));
    n_module_tokens_ += n;
    stats_.cached_bytes += resident->module().geometry().state_bytes(kv_blocks(n));
  }
  stats_.cached_tokens = n_module_tokens_;
  return ok();
}

// Links that another conversation kept.
Status Session::attach_links(BackendTimeline* timeline, Chain* chain) {
  for (Chain::Link& link : chain->links()) {
    if (!prompt_->may_find(link)) continue;
    Lookup found = prompt_->find(link);
    if (!found) continue;
    PC_TRY(const ResidentHandle resident, engine().backend().resident(std::move(found.module)));
    const auto n = static_cast<std::uint32_t>(link.tokens.size());
    PC_CHECK_OK(timeline->attach(resident, 0, n, link.position));
    link.attached = link.stored = true;
    stats_.chained_tokens += n;
    stats_.cached_bytes += resident->module().geometry().state_bytes(kv_blocks(n));
  }
  stats_.cached_tokens += stats_.chained_tokens;
  return ok();
}

Status Session::compute(BackendTimeline* timeline, std::span<const pc_run> runs, float* logits) {
  return engine().scheduler().compute(
      {.timeline = timeline, .runs = runs, .logits = logits, .cancel = &cancel_});
}

Result<std::optional<TokenId>> Session::next() {
  if (stats_.finish != Finish::kNone) {
    text_.clear();
    return std::optional<TokenId>();
  }
  if (broken_) return *broken_;
  const bool first = stats_.generated_tokens == 0;
  std::uint64_t step_us = 0;
  if (const Status ready = compute_logits(&step_us); !ready.ok()) {
    if (ready.error().code == Code::kCancelled)
      stats_.finish = Finish::kCancelled;
    else if (timeline_)
      broken_ = ready.error();
    return ready.error();
  }
  if (answer_.size() >= max_tokens_) return finish(Finish::kLength);
  const Stopwatch watch;
  PC_CHECK_OK(draw());
  (first ? stats_.ttft_us : stats_.decode_us) += step_us + watch.microseconds();
  return take_drawn();
}

// Those that the next token is drawn from: the prompt's, or behind the token drawn last. Where the
// answer is as long as it may be, that token is left.
Status Session::compute_logits(std::uint64_t* step_us) {
  PC_CHECK_OK(prefill());
  if (__atomic_load_n(&cancel_, __ATOMIC_RELAXED)) return cancelled();
  if (token_ < 0 || answer_.size() >= max_tokens_) return ok();
  const Stopwatch watch;
  PC_CHECK_OK(step(logits_.data()));
  *step_us = watch.microseconds();
  return ok();
}

Result<std::optional<TokenId>> Session::take_drawn() {
  if (engine().ends_turn(token_)) {
    sampler_.forget(token_);
    token_ = -1;  // what closes the turn is the chat format's
    return finish(Finish::kEos);
  }
  ++stats_.generated_tokens;
  answer_.push_back(token_);
  if (text_.push(token_)) stats_.finish = Finish::kStop;
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

// Computes the drawn token; its logits are the next one's.
Status Session::step(float* logits) {
  chain_.append({&token_, 1}, position_);
  const pc_run run = chain_.links().back().run();
  if (const Status done = compute(&*timeline_, {&run, 1}, logits); !done.ok()) {
    chain_.rewind(position_);
    return done;
  }
  chain_.computed();
  token_ = -1;
  ++position_;
  return ok();
}

std::optional<TokenId> Session::finish(Finish how) {
  stats_.finish = how;
  text_.finish();
  return std::nullopt;
}

}  // namespace pc
