#include "runtime/engine/session.h"

#include <algorithm>
#include <utility>

#include "base/progress.h"  // cancelled
#include "runtime/engine/stopwatch.h"

namespace pc {
namespace {

constexpr std::uint32_t kDefaultMaxTokens = 256;

// How many tokens opened an answer: `last`, unless a token of what stands before them reaches
// into the opening. (A space in front may be the tokenizer's own.)
std::optional<std::uint32_t> opening_tokens(const Tokenizer& tokenizer, const Tokens& last,
                                            const std::string& opening) {
  if (opening.empty()) return 0;
  std::string text;
  for (const TokenId token : last)
    tokenizer.append_bytes(token, &text, Tokenizer::Controls::kSpell);
  if (!text.ends_with(opening)) return std::nullopt;
  return static_cast<std::uint32_t>(last.size());
}

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
      position_(prompt_->plan.end),
      chat_(prompt_->plan.chat) {
  begin_answer();
  if (chat_)
    n_opening_ = opening_tokens(prompt_->schema->engine().tokenizer(),
                                prompt_->plan.runs.back().tokens, chat_->texts.answer);
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
  if (prompt_->schema->engine().ends_turn(token_)) {
    token_ = -1;  // what closes the turn is the chat format's
    return finish(Finish::kEos);
  }
  ++stats_.generated_tokens;
  answer_.push_back(token_);
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

// Room for all of it: drawing a token allocates nothing.
void Session::begin_answer() {
  answer_.clear();
  answer_.reserve(max_tokens_);
  text_ = TextStream(prompt_->schema->engine().tokenizer(), options_.stop);
}

// What text() gave of it in all, and what it still held back.
std::string Session::answer_text() const {
  TextStream stream(prompt_->schema->engine().tokenizer(), options_.stop);
  std::string text;
  for (const TokenId token : answer_) {
    const bool stopped = stream.push(token);
    text += stream.text();
    if (stopped) return text;
  }
  stream.finish();
  return text + stream.text();
}

Status Session::ready_to_read_on() {
  if (broken_) return *broken_;
  if (stats_.finish == Finish::kCancelled) return cancelled();
  return prefill();
}

Status Session::append(std::span<const pml::ChatTurn> turns) {
  PC_CHECK_OK(ready_to_read_on());
  if (!chat_)
    return error(
        Code::kInvalidArgument,
        "no answer's turn is open to be followed by others: the prompt does not end with a "
        "turn of the user's");
  // What a stop string cut off was read by the model all the same.
  const bool as_read = stats_.finish != Finish::kStop;
  const std::string text = answer_text();
  std::string bytes;
  for (const TokenId token : answer_)
    prompt_->schema->engine().tokenizer().append_bytes(token, &bytes);
  const pml::ChatFormat& format = *prompt_->schema->engine().text_encoder().chat;
  PC_TRY(pml::NextTurns next, pml::next_turns(format, *chat_, {text, bytes, as_read}, turns));
  if (!next.keeps_answer && !n_opening_)
    return error(Code::kUnsupported,
                 "the model's chat format writes the answer otherwise now that the conversation "
                 "goes on, and its beginning shares a token with what stands before it; open a "
                 "session with all of the conversation");
  PC_TRY(const Tokens last, read_on(next.spans, next.keeps_answer));
  n_opening_ = opening_tokens(prompt_->schema->engine().tokenizer(), last, next.chat.texts.answer);
  chat_ = std::move(next.chat);
  return ok();
}

Status Session::append_text(std::string_view text) {
  PC_CHECK_OK(ready_to_read_on());
  if (text.empty()) return error(Code::kInvalidArgument, "there is no text to append");
  const std::vector<pml::NextTurns::Span> spans = {{std::string(text), false}};
  PC_CHECK_OK(read_on(spans, true));
  chat_.reset();  // what the answer's turn holds now is more than an answer
  return ok();
}

// Computes these spans behind the answer, or in its place, and starts another one. Gives the
// tokens of the last span.
Result<Tokens> Session::read_on(std::span<const pml::NextTurns::Span> spans, bool keeps_answer) {
  const Stopwatch watch;
  const Engine& engine = prompt_->schema->engine();
  std::vector<pml::TextSpan> texts;
  for (const auto& span : spans) texts.push_back({span.text, span.markup});
  PC_TRY(std::vector<Tokens> encoded, engine.text_encoder().encode(texts, false));
  Tokens tokens;
  if (keeps_answer && token_ >= 0) tokens.push_back(token_);
  for (const Tokens& part : encoded) tokens.insert(tokens.end(), part.begin(), part.end());

  // The timeline has all of the answer but the token that was drawn last.
  const std::size_t n_read = answer_.size() - (token_ >= 0 ? 1 : 0);
  const auto n_gone = keeps_answer ? 0 : static_cast<std::uint32_t>(n_read) + *n_opening_;
  const Position from = position_ - static_cast<Position>(n_gone);
  const std::uint64_t window = engine.context_tokens();
  const std::uint64_t end = static_cast<std::uint64_t>(from) + tokens.size();
  if (end + std::max(options_.max_tokens, 1u) > window)
    return error(Code::kContextFull, "the conversation would end at position " +
                                         std::to_string(end) + " and its answer may take " +
                                         std::to_string(std::max(options_.max_tokens, 1u)) +
                                         " tokens, but the context window has " +
                                         std::to_string(window) + ": begin another session");
  // Work that fails leaves its timeline as it was; an answer that goes, goes from a fork.
  std::optional<BackendTimeline> forked;
  if (n_gone != 0) {
    PC_TRY(forked, timeline_->fork());
    PC_CHECK_OK(forked->rewind(forked->n_tokens() - n_gone, forked->n_attached()));
  }
  const std::uint64_t n_seen = static_cast<std::uint64_t>(from);
  std::vector<float> logits(logits_.size());
  const pc_run run{tokens.data(), static_cast<std::uint32_t>(tokens.size()), from, from, 1,
                   nullptr};
  const Stopwatch compute_watch;
  const Status computed = engine.scheduler().compute({.timeline = forked ? &*forked : &*timeline_,
                                                      .runs = {&run, 1},
                                                      .logits = logits.data(),
                                                      .cancel = &cancel_});
  if (!computed.ok()) return computed.error();

  if (forked) timeline_ = std::move(forked);
  logits_.swap(logits);
  for (const TokenId token : tokens) sampler_.observe(token);
  position_ = static_cast<Position>(end);
  token_ = -1;
  if (options_.max_tokens == 0)
    max_tokens_ =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(kDefaultMaxTokens, window - end));
  begin_answer();
  stats_ = {};
  stats_.cached_tokens = n_seen;
  stats_.computed_tokens = tokens.size();
  stats_.prompt_tokens = n_seen + tokens.size();
  stats_.prefill_us = compute_watch.microseconds();
  stats_.ttft_us = watch.microseconds();
  return std::move(encoded.back());
}

Result<std::unique_ptr<Session>> Session::fork() const {
  std::unique_ptr<Session> fork(new Session(prompt_, options_, max_tokens_));
  fork->residents_ = residents_;
  if (timeline_) {
    PC_TRY(fork->timeline_, timeline_->fork());
  }
  fork->sampler_ = sampler_;
  fork->text_ = text_;
  fork->logits_ = logits_;
  fork->token_ = token_;
  fork->position_ = position_;
  fork->chat_ = chat_;
  fork->n_opening_ = n_opening_;
  fork->answer_.assign(answer_.begin(), answer_.end());
  fork->broken_ = broken_;
  fork->stats_ = stats_;
  return fork;
}

std::optional<TokenId> Session::finish(Finish how) {
  stats_.finish = how;
  text_.finish();
  return std::nullopt;
}

}  // namespace pc
