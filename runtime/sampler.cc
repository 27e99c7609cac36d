#include "runtime/sampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace pc {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

}  // namespace

Status check_sampler_options(const SamplerOptions& o) {
  const auto bad = [](const char* what) { return error(Code::kInvalidArgument, what); };
  if (!(o.temperature >= 0.0f) || std::isinf(o.temperature))
    return bad("the temperature must be 0 or more");
  if (!(o.top_p > 0.0f && o.top_p <= 1.0f)) return bad("top-p must be above 0 and at most 1");
  if (!(o.min_p >= 0.0f && o.min_p < 1.0f)) return bad("min-p must be at least 0 and below 1");
  if (!(o.repetition_penalty > 0.0f) || std::isinf(o.repetition_penalty))
    return bad("the repetition penalty must be above 0");
  return ok();
}

Sampler::Sampler(const SamplerOptions& options, std::uint32_t vocab_size)
    : options_(options), random_(options.seed), said_(vocab_size, 0) {
  if (options.temperature > 0.0f) candidates_.reserve(vocab_size);
}

void Sampler::observe(std::int32_t token) {
  if (token >= 0 && static_cast<std::size_t>(token) < said_.size())
    said_[static_cast<std::size_t>(token)] = 1;
}

std::int32_t Sampler::sample(std::span<const float> logits) {
  std::int32_t token = likeliest(logits);
  if (options_.temperature > 0.0f) {
    rank_all(logits, penalised(logits, static_cast<std::size_t>(token)));
    keep_top_k();
    weigh();
    keep_top_p();
    keep_min_p();
    token = draw();
  }
  observe(token);
  return token;
}

float Sampler::penalised(std::span<const float> logits, std::size_t token) const {
  const float logit = logits[token];
  if (!(logit > kNever)) return kNever;  // NaN, too
  if (!said_[token]) return logit;
  return logit > 0.0f ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
}

std::int32_t Sampler::likeliest(std::span<const float> logits) const {
  std::size_t best = 0;
  float top = kNever;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float logit = penalised(logits, i);
    if (logit > top) best = i, top = logit;
  }
  return static_cast<std::int32_t>(best);
}

// Less the largest, so that no temperature is too small to divide by. The bits of
// numbers that are not negative are in the numbers' order.
void Sampler::rank_all(std::span<const float> logits, float top) {
  candidates_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float logit = penalised(logits, i);
    const float below = logit == top ? 0.0f : (top - logit) / options_.temperature;
    candidates_.push_back(
        {std::bit_cast<std::uint32_t>(below), 1.0f, static_cast<std::int32_t>(i)});
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

// The smallest set of likeliest tokens whose probabilities reach top_p.
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
