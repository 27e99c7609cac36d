#include "runtime/scheduler/step_time.h"

#include <algorithm>

namespace pc {
namespace {

// What a step counts when the next one comes: the latest thirty decide.
constexpr double kKept = 0.97;

}  // namespace

void StepTime::add(std::uint32_t n_tokens, double seconds) {
  for (double* sum : {&n_, &tokens_, &seconds_, &tokens2_, &both_}) *sum *= kKept;
  const double x = n_tokens;
  n_ += 1;
  tokens_ += x;
  seconds_ += seconds;
  tokens2_ += x * x;
  both_ += x * seconds;
}

std::uint32_t StepTime::tokens_within(double seconds) const {
  if (n_ == 0) return UINT32_MAX;
  // Least squares. Steps of one size say nothing of the slope: then all of it is the tokens'.
  const double spread = n_ * tokens2_ - tokens_ * tokens_;
  const bool known = spread > 1e-9 * n_ * tokens2_;
  double a_token = known ? (n_ * both_ - tokens_ * seconds_) / spread : seconds_ / tokens_;
  a_token = std::max(a_token, 0.0);
  const double always = std::max((seconds_ - a_token * tokens_) / n_, 0.0);
  if (seconds <= always) return 0;
  const double tokens = a_token > 0 ? (seconds - always) / a_token : UINT32_MAX;
  return tokens < UINT32_MAX ? static_cast<std::uint32_t>(tokens) : UINT32_MAX;
}

}  // namespace pc
