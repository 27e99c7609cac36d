#include "runtime/session/answer_check.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/progress.h"             // cancelled
#include "runtime/sampling/sampler.h"  // log_sum_exp
#include "runtime/session/session.h"

namespace pc {
namespace {

using Kind = pml::Repair::Kind;

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

// How one way's tokens are beside those of the full answer, each behind the same tokens.
struct Comparison {
  std::vector<bool> same;          // [steps]
  std::vector<double> divergence;  // [steps]
  SessionStats stats;
};

Result<Comparison> compare(const std::shared_ptr<const LoadedPrompt>& prompt,
                           SessionOptions options, const pml::Repair& way, const FullAnswer& full) {
  std::size_t at = 0;
  options.checked_repair = way;
  options.mask = [&](std::span<std::uint32_t> allowed) {
    if (at < full.tokens.size()) allow_only(full.tokens[at], allowed);
    return true;
  };
  PC_TRY(const std::unique_ptr<Session> session, Session::open(prompt, options));
  Comparison made;
  for (; at < full.steps.size(); ++at) {
    if (const auto drawn = session->next(); !drawn.ok()) return drawn.error();
    const Distribution mine = distribution_of(session->logits());
    made.same.push_back(likeliest(full.steps[at]) == likeliest(mine));
    made.divergence.push_back(divergence(full.steps[at], mine));
  }
  made.stats = session->stats();
  return made;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What is summed up of one way over prompts.
struct Sums {
  std::uint64_t module_tokens = 0, anew = 0, tokens = 0, same_tokens = 0, answers = 0,
                same_first = 0, same_answers = 0;
  double divergence = 0.0, first_divergence = 0.0;
  std::vector<double> ttft_us, faster;

  void add(const FullAnswer& full, const Comparison& way);
  AnswerWay result(const pml::Repair& repair) const;
};

void Sums::add(const FullAnswer& full, const Comparison& way) {
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

AnswerWay Sums::result(const pml::Repair& repair) const {
  const auto share = [](double part, std::uint64_t of) {
    return of ? part / static_cast<double>(of) : 0.0;
  };
  AnswerWay way{.repair = repair};
  way.anew = share(static_cast<double>(anew), module_tokens);
  way.same_tokens = share(static_cast<double>(same_tokens), tokens);
  way.same_first = share(static_cast<double>(same_first), answers);
  way.same_answers = share(static_cast<double>(same_answers), answers);
  way.divergence = share(divergence, tokens);
  way.first_divergence = share(first_divergence, answers);
  way.ttft_us = static_cast<std::uint64_t>(median(ttft_us));
  way.faster = median(faster);
  way.passes = way.same_tokens >= kLeastSameTokens;
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
  Checker(const AnswerCheckOptions& options, const Engine& engine, std::size_t n_prompts)
      : options_(options),
        repairs_(checked_repairs(engine)),
        sums_(repairs_.size()),
        n_prompts_(static_cast<std::uint32_t>(n_prompts)) {
    session_.max_tokens = options.answer_tokens;
    session_.progress = [this](std::uint64_t, std::uint64_t) { return goes_on(); };
  }

  Status add(const std::shared_ptr<const LoadedPrompt>& prompt);
  AnswerCheck result() const;

 private:
  bool goes_on() const { return !options_.progress || options_.progress(n_done_, n_prompts_); }
  Status encode(const LoadedPrompt& prompt) const;
  Status answer(const std::shared_ptr<const LoadedPrompt>& prompt);

  const AnswerCheckOptions& options_;
  SessionOptions session_;
  std::vector<pml::Repair> repairs_;
  std::vector<Sums> sums_;  // [repairs_]
  std::vector<double> full_ttft_us_;
  std::uint32_t n_prompts_, n_done_ = 0, n_exact_ = 0;
};

Status Checker::encode(const LoadedPrompt& prompt) const {
  return prompt.schema->encode(
      prompt.modules,
      [this](std::uint32_t, const std::string&, const AcquiredModule&) { return goes_on(); },
      [this](std::uint32_t, const std::string&) { return goes_on(); });
}

// An exact prompt is the same in every way, and would only water down what the others show.
Status Checker::add(const std::shared_ptr<const LoadedPrompt>& prompt) {
  if (is_exact(*prompt)) {
    ++n_exact_;
  } else {
    PC_CHECK_OK(encode(*prompt));
    PC_CHECK_OK(answer(prompt));
  }
  ++n_done_;
  return goes_on() ? ok() : Status(cancelled());
}

// Which way comes first changes from prompt to prompt: that one touches the modules' pages.
Status Checker::answer(const std::shared_ptr<const LoadedPrompt>& prompt) {
  PC_TRY(const FullAnswer full, answer_fully(prompt, session_));
  full_ttft_us_.push_back(static_cast<double>(full.ttft_us));
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const std::size_t way = (i + n_done_) % sums_.size();
    if (!goes_on()) return cancelled();
    PC_TRY(const Comparison made, compare(prompt, session_, repairs_[way], full));
    sums_[way].add(full, made);
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
  for (std::size_t i = 0; i < sums_.size(); ++i) check.ways.push_back(sums_[i].result(repairs_[i]));
  check.chosen = repairs_.back();
  std::uint64_t least = UINT64_MAX;
  for (const AnswerWay& way : check.ways)
    if (way.passes && way.ttft_us < least) {
      least = way.ttft_us;
      check.chosen = way.repair;
    }
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

}  // namespace

std::vector<pml::Repair> checked_repairs(const Engine& engine) {
  std::vector<pml::Repair> repairs = {
      {Kind::kNone, 0, 0.0},      {Kind::kLeading, 16, 0.0},
      {Kind::kLeading, 64, 0.0},  {Kind::kSelected, 0, 0.15},
      {Kind::kAttended, 0, 0.15}, {Kind::kSelected, 0, 0.30},
      {Kind::kAttended, 0, 0.30}, {Kind::kLeading, pml::kAllTokens, 0.0},
  };
  // It compares values of the second layer.
  if (engine.model().desc.n_layers == 1)
    std::erase_if(repairs, [](const auto& r) { return r.kind == Kind::kSelected; });
  return repairs;
}

Result<AnswerCheck> check_answers(std::span<const std::shared_ptr<const LoadedPrompt>> prompts,
                                  const AnswerCheckOptions& options) {
  if (prompts.empty())
    return error(Code::kInvalidArgument, "a check of answers needs a prompt at least");
  if (options.answer_tokens == 0 || options.answer_tokens > kMostAnswerTokens)
    return error(Code::kInvalidArgument,
                 "a check of answers compares 1 to " + std::to_string(kMostAnswerTokens) +
                     " tokens of each, not " + std::to_string(options.answer_tokens));
  PC_CHECK_OK(check_windows(prompts, options.answer_tokens));
  Checker checker(options, prompts.front()->schema->engine(), prompts.size());
  for (const auto& prompt : prompts) PC_CHECK_OK(checker.add(prompt));
  return checker.result();
}

}  // namespace pc
