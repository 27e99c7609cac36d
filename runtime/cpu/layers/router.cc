#include "runtime/cpu/layers/router.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "base/status.h"  // PC_EXPECT

namespace pc {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

float at(const pc_tensor& vector, std::size_t i) {
  return vector.data ? static_cast<const float*>(vector.data)[i] : 0.0f;
}

// In place.
void softmax(std::span<float> x) {
  const float top = *std::ranges::max_element(x);
  float sum = 0;
  for (float& v : x) sum += v = std::exp(v - top);
  for (float& v : x) v /= sum;
}

void to_scores(const pc_mixture& mixture, std::span<float> logits) {
  for (std::size_t i = 0; i < logits.size(); ++i)
    logits[i] = logits[i] * mixture.router_scale + at(mixture.router_bias, i);
  if (mixture.routing == PC_ROUTING_SOFTMAX) return softmax(logits);
  for (float& v : logits) v = 1.0f / (1.0f + std::exp(-v));
}

// The number of the largest, which is then out of the race.
std::uint32_t take_largest(std::span<float> x) {
  const auto largest = std::ranges::max_element(x);
  *largest = kNever;
  return static_cast<std::uint32_t>(largest - x.begin());
}

// Takes all but the best groups out of the race.
void keep_best_groups(const pc_mixture& mixture, std::span<float> scores) {
  const std::size_t each = scores.size() / mixture.n_groups;
  std::array<float, kMostExperts> group_scores, sorted;
  const std::span<float> groups(group_scores.data(), mixture.n_groups);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::span<float> best(sorted.data(), std::min<std::size_t>(mixture.group_best, each));
    std::ranges::partial_sort_copy(scores.subspan(g * each, each), best, std::greater());
    groups[g] = std::accumulate(best.begin(), best.end(), 0.0f);
  }
  std::array<bool, kMostExperts> kept{};
  for (std::uint32_t i = 0; i < mixture.n_groups_used; ++i) kept[take_largest(groups)] = true;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (!kept[i / each]) scores[i] = kNever;
}

}  // namespace

void choose_experts(const pc_mixture& mixture, std::span<float> logits,
                    std::span<ExpertChoice> chosen) {
  PC_EXPECT(logits.size() == mixture.n_experts && chosen.size() == mixture.n_used);
  PC_EXPECT(mixture.n_experts <= kMostExperts);
  to_scores(mixture, logits);
  std::array<float, kMostExperts> compared;
  const std::span<float> race(compared.data(), logits.size());
  for (std::size_t i = 0; i < race.size(); ++i) race[i] = logits[i] + at(mixture.choice_bias, i);
  if (mixture.n_groups > 1) keep_best_groups(mixture, race);
  float sum = 0;
  for (ExpertChoice& choice : chosen) {
    choice.expert = take_largest(race);
    sum += choice.weight = logits[choice.expert];
  }
  const float factor = mixture.normalised ? mixture.scale / sum : mixture.scale;
  for (ExpertChoice& choice : chosen)
    choice.weight *=
        mixture.expert_scales.data ? factor * at(mixture.expert_scales, choice.expert) : factor;
}

}  // namespace pc
