#include "runtime/sampler.h"

#include <algorithm>
#include <cmath>

namespace pc {

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
  candidates_.reserve(vocab_size);
}

void Sampler::observe(std::int32_t token) {
  if (token >= 0 && static_cast<std::size_t>(token) < said_.size())
    said_[static_cast<std::size_t>(token)] = 1;
}

std::int32_t Sampler::sample(std::span<const float> logits) {
  candidates_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    float logit = logits[i];
    if (said_[i] && options_.repetition_penalty != 1.0f) {
      logit =
          logit > 0.0f ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
    }
    candidates_.push_back({logit, static_cast<std::int32_t>(i)});
  }
  const std::int32_t token = options_.temperature == 0.0f ? greedy() : draw();
  observe(token);
  return token;
}

std::int32_t Sampler::greedy() const {
  const auto less = [](const Candidate& a, const Candidate& b) { return a.logit < b.logit; };
  return std::max_element(candidates_.begin(), candidates_.end(), less)->token;
}

std::int32_t Sampler::draw() {
  // Less the largest, so that no temperature is too small to divide by.
  float top = candidates_.front().logit;
  for (const Candidate& c : candidates_) top = std::max(top, c.logit);
  for (Candidate& c : candidates_) c.logit = (c.logit - top) / options_.temperature;
  keep_top_k();
  to_probabilities();
  keep_top_p();
  keep_min_p();
  double total = 0.0;
  for (const Candidate& c : candidates_) total += c.logit;
  // 53 random bits as a number in [0, 1): the same everywhere, unlike
  // std::uniform_real_distribution.
  double at = static_cast<double>(random_() >> 11) * 0x1p-53 * total;
  for (const Candidate& c : candidates_) {
    at -= c.logit;
    if (at < 0.0) return c.token;
  }
  return candidates_.back().token;  // rounding
}

// The order of equal logits is by id, so that ties do not depend on the library's sort.
void Sampler::keep_top_k() {
  const auto before = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  };
  const std::size_t k = options_.top_k == 0
                            ? candidates_.size()
                            : std::min<std::size_t>(options_.top_k, candidates_.size());
  std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(k),
                    candidates_.end(), before);
  candidates_.resize(k);
}

void Sampler::to_probabilities() {
  const float top = candidates_.front().logit;
  for (Candidate& c : candidates_) c.logit = std::exp(c.logit - top);
}

// The smallest set of likeliest tokens whose probabilities reach top_p.
void Sampler::keep_top_p() {
  if (options_.top_p >= 1.0f) return;
  double total = 0.0, sum = 0.0;
  for (const Candidate& c : candidates_) total += c.logit;
  std::size_t n = 0;
  while (n < candidates_.size() && sum < options_.top_p * total) sum += candidates_[n++].logit;
  candidates_.resize(std::max<std::size_t>(n, 1));
}

// Tokens at least min_p times as likely as the likeliest (whose weight is 1).
void Sampler::keep_min_p() {
  std::size_t n = 1;
  while (n < candidates_.size() && candidates_[n].logit >= options_.min_p) ++n;
  candidates_.resize(n);
}

}  // namespace pc
