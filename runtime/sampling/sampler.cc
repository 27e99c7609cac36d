#include "runtime/sampling/sampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>

namespace pc {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNever = -kInfinity;

// Peaks of so many columns fit the first cache beside the scores that stream by; and with a
// k of some hundreds most columns hold none of the k likeliest.
constexpr std::size_t kColumns = 4096;

}  // namespace

Status check_sampler_options(const SamplerOptions& o, std::uint32_t vocab_size) {
  const auto bad = [](const char* what) { return error(Code::kInvalidArgument, what); };
  if (!(o.temperature >= 0.0f) || std::isinf(o.temperature))
    return bad("the temperature must be 0 or more");
  if (!(o.top_p >= 0.0f && o.top_p <= 1.0f)) return bad("top-p must be from 0 to 1");
  if (!(o.min_p >= 0.0f && o.min_p <= 1.0f)) return bad("min-p must be from 0 to 1");
  if (!(o.repetition_penalty > 0.0f) || std::isinf(o.repetition_penalty))
    return bad("the repetition penalty must be above 0");
  if (!std::isfinite(o.presence_penalty) || !std::isfinite(o.frequency_penalty))
    return bad("the presence and the frequency penalty must be numbers");
  for (const TokenBias& b : o.bias) {
    if (b.token < 0 || static_cast<std::uint32_t>(b.token) >= vocab_size)
      return error(Code::kInvalidArgument, "the bias of token " + std::to_string(b.token) +
                                               " is for no token of the model's " +
                                               std::to_string(vocab_size));
    if (std::isnan(b.bias) || b.bias == kInfinity)
      return bad("a bias must be a number, or -infinity");
  }
  return ok();
}

double log_sum_exp(std::span<const float> logits) {
  const float top = *std::ranges::max_element(logits);
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(double{logit} - top);
  return top + std::log(sum);
}

float logprob_of(std::span<const float> logits, std::int32_t token) {
  return static_cast<float>(logits[static_cast<std::size_t>(token)] - log_sum_exp(logits));
}

std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, std::size_t n) {
  std::vector<std::int32_t> ids(logits.size());
  std::vector<TokenLogprob> top(std::min(n, logits.size()));
  if (!top.empty()) find_top_logprobs(logits, log_sum_exp(logits), ids, top);
  return top;
}

void find_top_logprobs(std::span<const float> logits, double sum, std::span<std::int32_t> ids,
                       std::span<TokenLogprob> top) {
  std::iota(ids.begin(), ids.end(), 0);
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x > y || (x == y && a < b);
  };
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(top.size());
  std::partial_sort(ids.begin(), end, ids.end(), likelier);
  for (std::size_t i = 0; i < top.size(); ++i)
    top[i] = {ids[i], static_cast<float>(logits[static_cast<std::size_t>(ids[i])] - sum)};
}

Sampler::Sampler(const SamplerOptions& options, std::uint32_t vocab_size)
    : options_(options),
      random_(options.seed),
      said_(options.repetition_penalty != 1.0f ? vocab_size : 0),
      drawn_(options.presence_penalty != 0.0f || options.frequency_penalty != 0.0f ? vocab_size
                                                                                   : 0),
      peaks_(std::min<std::size_t>(kColumns, vocab_size)),
      distances_(peaks_.size()) {
  scores_.reserve(vocab_size);
  if (options.temperature > 0.0f) candidates_.reserve(vocab_size);
  near_.reserve(peaks_.size());
}

void Sampler::observe(std::int32_t token) {
  if (token >= 0 && static_cast<std::size_t>(token) < said_.size())
    ++said_[static_cast<std::size_t>(token)];
}

void Sampler::forget(std::int32_t token) {
  if (token < 0 || static_cast<std::size_t>(token) >= said_.size()) return;
  std::uint32_t& said = said_[static_cast<std::size_t>(token)];
  if (said != 0) --said;
}

void Sampler::begin_answer(std::span<const std::int32_t> tokens) {
  std::ranges::fill(drawn_, 0u);
  if (drawn_.empty()) return;
  for (const std::int32_t token : tokens) ++drawn_[static_cast<std::size_t>(token)];
}

std::int32_t Sampler::sample(std::span<const float> logits,
                             std::span<const std::uint32_t> allowed) {
  const std::span<const float> scores = scored(logits, allowed);
  find_peaks(scores);
  const float top = *std::ranges::max_element(peaks_);
  if (top == kNever && (!allowed.empty() || !options_.bias.empty())) return -1;
  std::int32_t token = 0;
  if (options_.temperature > 0.0f) {
    rank(scores, top);
    keep_top_k();
    weigh();
    keep_top_p();
    keep_min_p();
    token = draw();
  } else {
    token = likeliest(scores, top);
  }
  observe(token);
  if (!drawn_.empty()) ++drawn_[static_cast<std::size_t>(token)];
  return token;
}

bool Sampler::changes_scores() const {
  return options_.repetition_penalty != 1.0f || !drawn_.empty() || !options_.bias.empty();
}

std::span<const float> Sampler::scored(std::span<const float> logits,
                                       std::span<const std::uint32_t> allowed) {
  if (allowed.empty() && !changes_scores()) return logits;
  scores_.assign(logits.begin(), logits.end());
  if (const float penalty = options_.repetition_penalty; penalty != 1.0f) {
    for (std::size_t i = 0; i < logits.size(); ++i)
      if (said_[i]) scores_[i] = logits[i] > 0.0f ? logits[i] / penalty : logits[i] * penalty;
  }
  for (std::size_t i = 0; i < drawn_.size(); ++i) {
    if (drawn_[i] == 0) continue;
    scores_[i] -=
        options_.presence_penalty + options_.frequency_penalty * static_cast<float>(drawn_[i]);
  }
  for (const TokenBias& b : options_.bias) scores_[static_cast<std::size_t>(b.token)] += b.bias;
  for (std::size_t i = 0; i < scores_.size() && !allowed.empty(); ++i)
    if ((allowed[i / 32] >> i % 32 & 1u) == 0) scores_[i] = kNever;
  return scores_;
}

// Columns, not blocks: a compiler turns a loop over many maxima into vectors.
void Sampler::find_peaks(std::span<const float> scores) {
  float* const peaks = peaks_.data();
  std::ranges::fill(peaks_, kNever);
  for (std::size_t row = 0; row < scores.size(); row += peaks_.size()) {
    const float* const score = scores.data() + row;
    const std::size_t n = std::min(peaks_.size(), scores.size() - row);
    for (std::size_t c = 0; c < n; ++c) peaks[c] = score[c] > peaks[c] ? score[c] : peaks[c];
  }
}

// The first of the largest; 0 where no score is a number above -infinity.
std::int32_t Sampler::likeliest(std::span<const float> scores, float top) const {
  if (top == kNever) return 0;
  std::size_t best = scores.size();
  for (std::size_t column = 0; column < peaks_.size(); ++column) {
    if (peaks_[column] != top) continue;
    for (std::size_t i = column; i < best; i += peaks_.size())
      if (scores[i] == top) best = i;
  }
  return static_cast<std::int32_t>(best);
}

// Less the largest, so that no temperature is too small to divide by.
float Sampler::below(float score, float top) const {
  const float number = score > kNever ? score : kNever;  // NaN is not above it
  return number == top ? 0.0f : (top - number) / options_.temperature;
}

// No token farther below the largest is kept, by top-k or by min-p; some nearer ones are
// not, either. Of k columns each has a token that is as near as its peak.
float Sampler::reach(float top) {
  float far = kInfinity;
  const std::uint32_t k = options_.top_k;
  if (k != 0 && k <= peaks_.size()) {
    for (std::size_t c = 0; c < peaks_.size(); ++c) distances_[c] = below(peaks_[c], top);
    const auto kth = distances_.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(distances_.begin(), kth, distances_.end());
    far = *kth;
  }
  // With top-p all weights count. The 1 is more than exp and log round, denormals included.
  if (options_.min_p > 0.0f && options_.top_p >= 1.0f)
    far = std::min(far, 1.0f - std::log(options_.min_p));
  return far;
}

// The candidates within reach. The bits of numbers that are not negative are in the
// numbers' order.
void Sampler::rank(std::span<const float> scores, float top) {
  const float far = reach(top);
  near_.clear();
  for (std::size_t c = 0; c < peaks_.size(); ++c)
    if (below(peaks_[c], top) <= far) near_.push_back(static_cast<std::uint32_t>(c));
  candidates_.clear();
  for (std::size_t row = 0; row < scores.size(); row += peaks_.size()) {
    for (const std::uint32_t column : near_) {
      const std::size_t i = row + column;
      if (i >= scores.size()) break;
      const float distance = below(scores[i], top);
      if (distance <= far)
        candidates_.push_back(
            {std::bit_cast<std::uint32_t>(distance), 1.0f, static_cast<std::int32_t>(i)});
    }
  }
}

void Sampler::weigh() {
  for (Candidate& c : candidates_) c.weight = std::exp(-std::bit_cast<float>(c.rank));
}

void Sampler::keep_top_k() {
  const std::uint32_t k = options_.top_k;
  if (k == 0 || k >= candidates_.size()) return;
  drop_behind(walk([](const Candidate&) { return 1u; }, [k](std::uint32_t n) { return n >= k; }));
}

// The smallest set of likeliest tokens whose probabilities reach top_p; one at least.
void Sampler::keep_top_p() {
  if (options_.top_p >= 1.0f) return;
  const double goal = options_.top_p * total_weight();
  drop_behind(walk([](const Candidate& c) { return double{c.weight}; },
                   [goal](double sum) { return sum >= goal; }));
}

// Tokens at least min_p times as likely as the likeliest (whose weight is 1).
void Sampler::keep_min_p() {
  if (options_.min_p > 0.0f)
    std::erase_if(candidates_, [&](const Candidate& c) { return c.weight < options_.min_p; });
}

std::int32_t Sampler::draw() {
  // 53 random bits as a number in [0, 1): the same everywhere, unlike
  // std::uniform_real_distribution.
  const double at = static_cast<double>(random_() >> 11) * 0x1p-53 * total_weight();
  return walk([](const Candidate& c) { return double{c.weight}; },
              [at](double sum) { return sum > at; })
      .token;
}

// The candidate with which a walk over them, the likeliest first, has enough: `enough`
// holds for the running sum of `measure` from it on. Its rank is found 11 bits at a time,
// by adding up what shares them, so that nothing is sorted. Where rounding leaves even the
// whole sum short of enough: the last one that measures anything.
template <class Measure, class Enough>
Sampler::Candidate Sampler::walk(Measure measure, Enough enough) const {
  using Sum = std::invoke_result_t<Measure, const Candidate&>;
  constexpr std::uint32_t kDigit = (1u << 11) - 1;
  std::uint32_t rank = 0, known = 0;  // the bits of the rank that are found, and which those are
  Sum passed{};                       // over all lower ranks
  for (const int shift : {20, 9, 0}) {
    std::array<Sum, kDigit + 1> sums{};
    for (const Candidate& c : candidates_)
      if ((c.rank & known) == rank) sums[c.rank >> shift & kDigit] += measure(c);
    std::uint32_t found = 0;
    Sum sum = passed;
    for (std::uint32_t digit = 0; digit <= kDigit; ++digit) {
      if (sums[digit] == Sum{}) continue;
      found = digit;
      passed = sum;
      sum += sums[digit];
      if (enough(sum)) break;
    }
    rank |= found << shift;
    known |= kDigit << shift;
  }
  Candidate last{};
  for (const Candidate& c : candidates_) {
    if (c.rank != rank) continue;
    last = c;
    passed += measure(c);
    if (enough(passed)) break;
  }
  return last;
}

void Sampler::drop_behind(const Candidate& last) {
  std::erase_if(candidates_, [&](const Candidate& c) {
    return c.rank > last.rank || (c.rank == last.rank && c.token > last.token);
  });
}

double Sampler::total_weight() const {
  double total = 0.0;
  for (const Candidate& c : candidates_) total += double{c.weight};
  return total;
}

}  // namespace pc
