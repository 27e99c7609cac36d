#include "runtime/checks/answer_check.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/progress.h"  // cancelled
#include "runtime/checks/answer_content.h"
#include "runtime/sampling/sampler.h"  // log_sum_exp
#include "runtime/session/session.h"

namespace pc {
namespace {

// What a token is drawn from.
struct Distribution {
  std::vector<float> logits;  // [vocab_size]
  double log_sum = 0.0;       // log_sum_exp of them
};

Distribution distribution_of(std::span<const float> logits) {
  return {{logits.begin(), logits.end()}, log_sum_exp(logits)};
}

// Kullback-Leibler, in nats: of q from p.
double divergence(const Distribution& p, const Distribution& q) {
  double sum = 0.0;
  for (std::size_t i = 0; i < p.logits.size(); ++i) {
    const double log_p = p.logits[i] - p.log_sum, log_q = q.logits[i] - q.log_sum;
    sum += std::exp(log_p) * (log_p - log_q);
  }
  return std::max(sum, 0.0);  // rounding
}

std::ptrdiff_t likeliest(const Distribution& p) {
  return std::ranges::max_element(p.logits) - p.logits.begin();
}

// Leaves nothing to be drawn but this token.
void allow_only(TokenId token, std::span<std::uint32_t> allowed) {
  std::ranges::fill(allowed, 0u);
  const auto index = static_cast<std::uint32_t>(token);
  allowed[index / 32] = 1u << index % 32;
}

// The answer after a full prefill: its tokens, what each was drawn from, and, where the model ended
// it, what that was drawn from.
struct FullAnswer {
  Tokens tokens;
  std::vector<Distribution> steps;
  std::uint64_t ttft_us = 0;
};

Result<FullAnswer> answer_fully(const std::shared_ptr<const LoadedPrompt>& prompt,
                                SessionOptions options) {
  options.no_reuse = true;
  PC_TRY(const std::unique_ptr<Session> session, Session::open(prompt, options));
  FullAnswer full;
  while (full.tokens.size() < options.max_tokens.value_or(0)) {
    PC_TRY(const std::optional<TokenId> token, session->next());
    full.steps.push_back(distribution_of(session->logits()));
    if (!token) break;
    full.tokens.push_back(*token);
  }
  full.ttft_us = session->stats().ttft_us;
  return full;
}

std::string text_of(const LoadedPrompt& prompt, const Tokens& tokens) {
  std::string text;
  for (const TokenId token : tokens) prompt.schema->engine().tokenizer().append_bytes(token, &text);
  return text;
}

// What was asked: the prompt's own text, and the texts of its modules.
AskedAbout asked_about(const LoadedPrompt& prompt) {
  AskedAbout about;
  std::vector<std::uint32_t> modules;
  for (const pml::PlanRun& run : prompt.plan.runs) {
    if (run.kind == pml::RunKind::kText || run.kind == pml::RunKind::kArgument) {
      about.question += text_of(prompt, run.tokens) + "\n";
      continue;
    }
    if (run.kind != pml::RunKind::kCached) continue;
    const std::uint32_t module = prompt.schema->layout().pieces[run.piece].module;
    if (module == pml::kRoot || std::ranges::find(modules, module) != modules.end()) continue;
    modules.push_back(module);
    about.documents.push_back(prompt.schema->own_text(module));
  }
  return about;
}

// How one way's tokens are beside those of the full answer, each behind the same tokens; and the
// answer that it gives by itself.
struct Comparison {
  std::vector<bool> same;          // [steps]
  std::vector<double> divergence;  // [steps]
  SessionStats stats;
  Tokens drawn;
};

// The answer as the way goes on with it where it first draws another token.
Result<Tokens> drawn_alone(Session* session, Position begin, const FullAnswer& full,
                           std::size_t n_same) {
  Tokens drawn(full.tokens.begin(), full.tokens.begin() + static_cast<std::ptrdiff_t>(n_same));
  PC_CHECK_OK(session->rewind(begin + static_cast<Position>(n_same)));
  while (true) {
    PC_TRY(const std::optional<TokenId> token, session->next());
    if (!token) return drawn;
    drawn.push_back(*token);
  }
}

Result<Comparison> compare(const std::shared_ptr<const LoadedPrompt>& prompt,
                           SessionOptions options, const pml::Repair& way, const FullAnswer& full) {
  std::size_t at = 0;
  options.checked_repair = way;
  options.mask = [&](std::span<std::uint32_t> allowed, const DrawPlace&) {
    if (at < full.tokens.size()) allow_only(full.tokens[at], allowed);
    return true;
  };
  PC_TRY(const std::unique_ptr<Session> session, Session::open(prompt, options));
  PC_CHECK_OK(session->prefill());
  const Position begin = session->position();
  Comparison made;
  for (; at < full.steps.size(); ++at) {
    if (const auto drawn = session->next(); !drawn.ok()) return drawn.error();
    const Distribution mine = distribution_of(session->logits());
    made.same.push_back(likeliest(full.steps[at]) == likeliest(mine));
    made.divergence.push_back(divergence(full.steps[at], mine));
  }
  made.stats = session->stats();
  const auto differs = std::ranges::find(made.same, false);
  if (differs == made.same.end()) {
    made.drawn = full.tokens;
  } else {
    const auto n_same = static_cast<std::size_t>(differs - made.same.begin());
    PC_TRY(made.drawn, drawn_alone(session.get(), begin, full, n_same));
  }
  return made;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What is summed up of one way over prompts.
struct Sums {
  std::uint64_t module_tokens = 0, anew = 0, tokens = 0, same_tokens = 0, answers = 0, kept = 0,
                same_first = 0, same_answers = 0;
  double divergence = 0.0, first_divergence = 0.0;
  std::vector<double> ttft_us, faster;

  void add(const FullAnswer& full, const Comparison& way, bool is_kept);
  AnswerWay result(const CheckedWay& way) const;
};

void Sums::add(const FullAnswer& full, const Comparison& way, bool is_kept) {
  kept += is_kept;
  const auto n_same = static_cast<std::uint64_t>(std::ranges::count(way.same, true));
  tokens += way.same.size();
  same_tokens += n_same;
  same_answers += n_same == way.same.size();
  same_first += way.same.front();
  divergence = std::accumulate(way.divergence.begin(), way.divergence.end(), divergence);
  first_divergence += way.divergence.front();
  ++answers;
  const SessionStats& stats = way.stats;
  module_tokens += stats.cached_tokens - stats.chained_tokens + stats.repaired_tokens;
  anew += stats.repaired_tokens;
  ttft_us.push_back(static_cast<double>(stats.ttft_us));
  faster.push_back(static_cast<double>(full.ttft_us) /
                   static_cast<double>(std::max<std::uint64_t>(stats.ttft_us, 1)));
}

AnswerWay Sums::result(const CheckedWay& checked) const {
  const auto share = [](double part, std::uint64_t of) {
    return of ? part / static_cast<double>(of) : 0.0;
  };
  AnswerWay way{.way = checked};
  way.anew = share(static_cast<double>(anew), module_tokens);
  way.kept = share(static_cast<double>(kept), answers);
  way.same_tokens = share(static_cast<double>(same_tokens), tokens);
  way.same_first = share(static_cast<double>(same_first), answers);
  way.same_answers = share(static_cast<double>(same_answers), answers);
  way.divergence = share(divergence, tokens);
  way.first_divergence = share(first_divergence, answers);
  way.ttft_us = static_cast<std::uint64_t>(median(ttft_us));
  way.faster = median(faster);
  way.passes = passes(way);
  return way;
}

bool is_exact(const LoadedPrompt& prompt) {
  for (std::size_t i = 0; i < prompt.plan.runs.size(); ++i)
    if (prompt.plan.runs[i].kind == pml::RunKind::kCached && !prompt.is_exact(i)) return false;
  return true;
}

// One check.
class Checker {
 public:
  Checker(const AnswerCheckOptions& options, const Engine& engine,
          std::shared_ptr<LoadedSchema> in_slots, std::size_t n_prompts)
      : options_(options),
        in_slots_(std::move(in_slots)),
        ways_(checked_ways(engine)),
        n_prompts_(static_cast<std::uint32_t>(n_prompts)) {
    if (!in_slots_) std::erase_if(ways_, [](const CheckedWay& way) { return way.in_slots; });
    sums_.resize(ways_.size());
    session_.max_tokens = options.answer_tokens;
    session_.progress = [this](std::uint64_t, std::uint64_t) { return goes_on(); };
  }

  Status add(const std::shared_ptr<const LoadedPrompt>& prompt);
  AnswerCheck result() const;

 private:
  using Prompt = std::shared_ptr<const LoadedPrompt>;
  bool goes_on() const { return !options_.progress || options_.progress(n_done_, n_prompts_); }
  Result<Prompt> moved_to_slots(const LoadedPrompt& prompt) const;
  Status encode(const LoadedPrompt& prompt) const;
  Status answer(const Prompt& prompt, const Prompt& in_slots);

  const AnswerCheckOptions& options_;
  const std::shared_ptr<LoadedSchema> in_slots_;
  SessionOptions session_;
  std::vector<CheckedWay> ways_;
  std::vector<Sums> sums_;  // [ways_]
  std::vector<double> full_ttft_us_;
  std::uint32_t n_prompts_, n_done_ = 0, n_exact_ = 0;
};

// The same prompt of the schema in slots; null where there is none.
Result<std::shared_ptr<const LoadedPrompt>> Checker::moved_to_slots(
    const LoadedPrompt& prompt) const {
  if (!in_slots_) return Prompt();
  return LoadedPrompt::of(in_slots_, prompt.written, LoadedPrompt::Together::kNever);
}

Status Checker::encode(const LoadedPrompt& prompt) const {
  return prompt.schema->encode(
      prompt.modules,
      [this](std::uint32_t, const std::string&, const AcquiredModule&) { return goes_on(); },
      [this](std::uint32_t, const std::string&) { return goes_on(); });
}

// An exact prompt is the same in every way, and would only water down what the others show.
Status Checker::add(const Prompt& prompt) {
  if (is_exact(*prompt)) {
    ++n_exact_;
  } else {
    PC_TRY(const Prompt in_slots, moved_to_slots(*prompt));
    PC_CHECK_OK(encode(*prompt));
    if (in_slots) PC_CHECK_OK(encode(*in_slots));
    PC_CHECK_OK(answer(prompt, in_slots));
  }
  ++n_done_;
  return goes_on() ? ok() : Status(cancelled());
}

// Which way comes first changes from prompt to prompt: that one touches the modules' pages.
Status Checker::answer(const Prompt& prompt, const Prompt& in_slots) {
  PC_TRY(const FullAnswer full, answer_fully(prompt, session_));
  full_ttft_us_.push_back(static_cast<double>(full.ttft_us));
  const AnswerContent says(text_of(*prompt, full.tokens), asked_about(*prompt));
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const std::size_t way = (i + n_done_) % sums_.size();
    if (!goes_on()) return cancelled();
    const Prompt& asked = ways_[way].in_slots ? in_slots : prompt;
    PC_TRY(const Comparison made, compare(asked, session_, ways_[way].repair, full));
    sums_[way].add(full, made,
                   made.drawn == full.tokens || says.is_in(text_of(*prompt, made.drawn)));
  }
  return ok();
}

AnswerCheck Checker::result() const {
  AnswerCheck check;
  check.n_prompts = n_done_;
  check.n_exact = n_exact_;
  if (!check.says_something()) return check;
  check.n_tokens = sums_.front().tokens;
  check.full_ttft_us = static_cast<std::uint64_t>(median(full_ttft_us_));
  for (std::size_t i = 0; i < sums_.size(); ++i) check.ways.push_back(sums_[i].result(ways_[i]));
  check.chosen = best_way(check.ways, false)->way.repair;  // all passes
  if (!in_slots_) return check;
  const AnswerWay* const in_slots = best_way(check.ways, true);
  check.chosen_in_slots = in_slots ? in_slots->way.repair : kEverythingAnew;
  check.slots_are_best = best_way(check.ways, std::nullopt)->way.in_slots;
  return check;
}

// Before any work: does each prompt have room for its answer?
Status check_windows(std::span<const std::shared_ptr<const LoadedPrompt>> prompts,
                     std::uint32_t answer_tokens) {
  for (std::size_t i = 0; i < prompts.size(); ++i)
    if (const Status fits = prompts[i]->check_window(answer_tokens, true); !fits.ok())
      return error(fits.error().code, "prompt " + std::to_string(i + 1) + " of " +
                                          std::to_string(prompts.size()) + ": " +
                                          fits.error().message);
  return ok();
}

// Behind stand-ins, which take room in a module's pass and in the store, or are too much to encode.
Result<bool> have_room_in_slots(std::span<const std::shared_ptr<const LoadedPrompt>> prompts,
                                const std::shared_ptr<LoadedSchema>& in_slots) {
  if (!in_slots) return false;
  for (const auto& prompt : prompts) {
    const auto moved = LoadedPrompt::of(in_slots, prompt->written, LoadedPrompt::Together::kNever);
    const Status fits = moved.ok() ? (*moved)->check_window(0, true) : Status(moved.error());
    if (!fits.ok() && fits.error().code == Code::kOutOfMemory) return fits.error();
    if (!fits.ok()) return false;
  }
  return true;
}

}  // namespace

Result<AnswerCheck> check_answers(std::span<const std::shared_ptr<const LoadedPrompt>> prompts,
                                  const std::shared_ptr<LoadedSchema>& in_slots,
                                  const AnswerCheckOptions& options) {
  if (prompts.empty())
    return error(Code::kInvalidArgument, "a check of answers needs a prompt at least");
  if (options.answer_tokens == 0 || options.answer_tokens > kMostAnswerTokens)
    return error(Code::kInvalidArgument,
                 "a check of answers compares 1 to " + std::to_string(kMostAnswerTokens) +
                     " tokens of each, not " + std::to_string(options.answer_tokens));
  PC_CHECK_OK(check_windows(prompts, options.answer_tokens));
  PC_TRY(const bool tries_slots, have_room_in_slots(prompts, in_slots));
  Checker checker(options, prompts.front()->schema->engine(), tries_slots ? in_slots : nullptr,
                  prompts.size());
  // What some of them have together is no measure for others.
  for (const auto& prompt : prompts) {
    PC_TRY(const auto apart, prompt->with_modules(LoadedPrompt::Together::kNever));
    PC_CHECK_OK(checker.add(apart));
  }
  return checker.result();
}

}  // namespace pc
