// Which experts a token goes to: against a choice made by sorting in double precision, and rules
// that hold whatever the numbers are.
#include "runtime/cpu/layers/router.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "tests/support/random.h"

using namespace pc;
using test::Random;

namespace {

struct Made {
  pc_mixture mixture{};
  std::vector<float> router_bias, choice_bias, expert_scales, logits;
};

pc_tensor vector_tensor(const std::vector<float>& v) {
  return {v.empty() ? nullptr : v.data(), PC_DTYPE_F32, 1, static_cast<std::uint32_t>(v.size())};
}

Made make(Random& random) {
  Made made;
  pc_mixture& m = made.mixture;
  m.router_scale = random.chance(0.5) ? 1.0f : 0.7f;
  m.n_groups = random.between(1, 4);
  m.n_experts = m.n_groups * random.between(2, 16);
  m.n_groups_used = random.between(1, m.n_groups);
  m.n_used = random.between(1, m.n_experts / m.n_groups * m.n_groups_used);
  m.group_best = random.between(1, 2);
  m.routing = random.chance(0.5) ? PC_ROUTING_SIGMOID : PC_ROUTING_SOFTMAX;
  m.normalised = random.chance(0.5);
  m.scale = random.chance(0.5) ? 1.0f : 2.5f;
  made.logits = random.floats(m.n_experts, 3.0f);
  if (random.chance(0.5)) made.router_bias = random.floats(m.n_experts);
  if (random.chance(0.5)) made.choice_bias = random.floats(m.n_experts, 0.3f);
  if (random.chance(0.3)) made.expert_scales = random.floats(m.n_experts);
  m.expert_scales = vector_tensor(made.expert_scales);
  m.router_bias = vector_tensor(made.router_bias);
  m.choice_bias = vector_tensor(made.choice_bias);
  return made;
}

std::vector<double> scores_of(const Made& made) {
  std::vector<double> scores(made.logits.begin(), made.logits.end());
  for (double& s : scores) s *= static_cast<double>(made.mixture.router_scale);
  for (std::size_t i = 0; i < made.router_bias.size(); ++i)
    scores[i] += static_cast<double>(made.router_bias[i]);
  if (made.mixture.routing == PC_ROUTING_SIGMOID) {
    for (double& s : scores) s = 1 / (1 + std::exp(-s));
    return scores;
  }
  for (double& s : scores) s = std::exp(s);
  const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
  for (double& s : scores) s /= sum;
  return scores;
}

// Numbers of x from the largest on.
std::vector<std::uint32_t> order_of(const std::vector<double>& x) {
  std::vector<std::uint32_t> order(x.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return x[a] > x[b]; });
  return order;
}

std::vector<std::uint32_t> chosen_by_sorting(const Made& made, std::vector<double> compared) {
  const pc_mixture& m = made.mixture;
  for (std::size_t i = 0; i < made.choice_bias.size(); ++i)
    compared[i] += static_cast<double>(made.choice_bias[i]);
  const std::size_t each = m.n_experts / m.n_groups;
  std::vector<double> groups;
  for (std::size_t g = 0; g < m.n_groups; ++g) {
    std::vector<double> members(compared.begin() + static_cast<std::ptrdiff_t>(g * each),
                                compared.begin() + static_cast<std::ptrdiff_t>((g + 1) * each));
    std::ranges::sort(members, std::greater());
    groups.push_back(members[0] + (m.group_best == 2 ? members[1] : 0));
  }
  const auto best = order_of(groups);
  const std::set<std::uint32_t> kept(best.begin(), best.begin() + m.n_groups_used);
  std::vector<std::uint32_t> chosen;
  for (const std::uint32_t e : order_of(compared))
    if (kept.contains(static_cast<std::uint32_t>(e / each)) && chosen.size() < m.n_used)
      chosen.push_back(e);
  return chosen;
}

TEST_CASE("experts are those that sorting in double precision chooses") {
  Random random(5);
  for (int round = 0; round < 500; ++round) {
    Made made = make(random);
    const pc_mixture& m = made.mixture;
    const std::vector<double> scores = scores_of(made);
    const auto want = chosen_by_sorting(made, scores);
    std::vector<ExpertChoice> got(m.n_used);
    choose_experts(m, made.logits, got);
    double sum = 0;
    for (const std::uint32_t e : want) sum += scores[e];
    for (std::size_t i = 0; i < want.size(); ++i) {
      REQUIRE(got[i].expert == want[i]);
      const double weight =
          scores[want[i]] * static_cast<double>(m.scale) / (m.normalised ? sum : 1.0) *
          (made.expert_scales.empty() ? 1.0 : static_cast<double>(made.expert_scales[want[i]]));
      CHECK(static_cast<double>(got[i].weight) == Approx(weight).epsilon(1e-5));
    }
  }
}

TEST_CASE("of equal scores the first expert's counts as larger") {
  pc_mixture m{};
  m.router_scale = 1;
  m.n_experts = 6, m.n_used = 3, m.n_groups = m.n_groups_used = m.group_best = 1;
  m.normalised = 1, m.scale = 1;
  std::vector<float> logits(6, 0.5f);
  std::vector<ExpertChoice> got(3);
  choose_experts(m, logits, got);
  for (std::uint32_t i = 0; i < 3; ++i) {
    CHECK(got[i].expert == i);
    CHECK(got[i].weight == Approx(1.0 / 3));
  }
}

TEST_CASE("logits that are not finite give weights that are not") {
  const float bad =
      GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity());
  pc_mixture m{};
  m.router_scale = 1;
  m.n_experts = 4, m.n_used = 2, m.n_groups = m.n_groups_used = m.group_best = 1, m.scale = 1;
  std::vector<float> logits{0.1f, bad, 0.3f, 0.2f};
  std::vector<ExpertChoice> got(2);
  choose_experts(m, logits, got);
  CHECK(std::ranges::any_of(got, [](const ExpertChoice& c) { return std::isnan(c.weight); }));
  CHECK(std::ranges::all_of(got, [](const ExpertChoice& c) { return c.expert < 4; }));
}

}  // namespace
