#include "runtime/sampler.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "tests/support/random.h"

namespace pc {
namespace {

std::map<std::int32_t, int> histogram(SamplerOptions options, const std::vector<float>& logits,
                                      int n) {
  std::map<std::int32_t, int> counts;
  Sampler sampler(options, static_cast<std::uint32_t>(logits.size()));
  for (int i = 0; i < n; ++i) ++counts[sampler.sample(logits)];
  return counts;
}

TEST_CASE("greedy takes the largest logit, the lower id at a tie") {
  Sampler sampler({}, 4);
  REQUIRE(sampler.sample(std::vector<float>{0.0f, 3.0f, 3.0f, 1.0f}) == 1);
}

TEST_CASE("frequencies follow the softmax at the temperature") {
  const std::vector<float> logits = {1.0f, 0.0f, 2.0f, -1.0f};
  for (const float temperature : {0.5f, 1.0f, 2.0f}) {
    SamplerOptions o;
    o.temperature = temperature;
    o.seed = 7;
    const int n = 40000;
    const auto counts = histogram(o, logits, n);
    double total = 0;
    for (const float l : logits) total += std::exp(l / temperature);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const double p = std::exp(logits[i] / temperature) / total;
      const auto found = counts.find(static_cast<std::int32_t>(i));
      const double got = found == counts.end() ? 0.0 : static_cast<double>(found->second) / n;
      REQUIRE(std::fabs(got - p) <= 5.0 * std::sqrt(p * (1 - p) / n));  // five deviations
    }
  }
}

TEST_CASE("top-k, top-p and min-p keep exactly the sets they name") {
  // Probabilities 0.5, 0.25, 0.125, 0.125 up to a constant.
  const std::vector<float> logits = {std::log(8.0f), std::log(4.0f), std::log(2.0f),
                                     std::log(2.0f)};
  const auto kept = [&](SamplerOptions o) {
    o.temperature = 1.0f;
    std::set<std::int32_t> tokens;
    for (const auto& [token, count] : histogram(o, logits, 4000)) tokens.insert(token);
    return tokens;
  };
  SamplerOptions o;
  o.top_k = 2;
  REQUIRE(kept(o) == std::set<std::int32_t>{0, 1});
  o = {};
  o.top_p = 0.7f;
  REQUIRE(kept(o) == std::set<std::int32_t>{0, 1});
  o.top_p = 0.4f;
  REQUIRE(kept(o) == std::set<std::int32_t>{0});
  o = {};
  o.min_p = 0.4f;
  REQUIRE(kept(o) == std::set<std::int32_t>{0, 1});
  o.min_p = 0.2f;
  REQUIRE(kept(o) == std::set<std::int32_t>{0, 1, 2, 3});
}

TEST_CASE("the repetition penalty lowers what was said, whatever its sign") {
  SamplerOptions o;
  o.repetition_penalty = 2.0f;
  Sampler sampler(o, 3);
  sampler.observe(0);
  REQUIRE(sampler.sample(std::vector<float>{3.0f, 2.0f, 0.0f}) == 1);  // 1.5 against 2
  Sampler negative(o, 2);
  negative.observe(0);
  REQUIRE(negative.sample(std::vector<float>{-1.0f, -1.5f}) == 1);  // -2 against -1.5
}

TEST_CASE("a seed repeats its tokens, another does not") {
  test::Random random(1);
  const auto logits = random.floats(500, 2.0f);
  SamplerOptions o;
  o.temperature = 1.5f;
  const auto draw = [&](std::uint64_t seed) {
    o.seed = seed;
    Sampler sampler(o, 500);
    std::vector<std::int32_t> tokens;
    for (int i = 0; i < 40; ++i) tokens.push_back(sampler.sample(logits));
    return tokens;
  };
  REQUIRE(draw(3) == draw(3));
  REQUIRE(draw(3) != draw(4));
}

TEST_CASE("the smallest temperatures are greedy, not nonsense") {
  for (const float temperature : {1e-3f, 1e-30f, 1e-44f}) {
    SamplerOptions o;
    o.temperature = temperature;
    Sampler sampler(o, 3);
    for (int i = 0; i < 20; ++i)
      REQUIRE(sampler.sample(std::vector<float>{-20.0f, 25.0f, 24.0f}) == 1);
  }
}

TEST_CASE("options out of range are refused") {
  const auto bad = [](auto set) {
    SamplerOptions o;
    set(o);
    const Status status = check_sampler_options(o);
    return !status.ok() && status.error().code == Code::kInvalidArgument;
  };
  REQUIRE(bad([](auto& o) { o.temperature = -1.0f; }));
  REQUIRE(bad([](auto& o) { o.temperature = NAN; }));
  REQUIRE(bad([](auto& o) { o.top_p = 0.0f; }));
  REQUIRE(bad([](auto& o) { o.top_p = 1.5f; }));
  REQUIRE(bad([](auto& o) { o.min_p = 1.0f; }));
  REQUIRE(bad([](auto& o) { o.repetition_penalty = 0.0f; }));
  REQUIRE(check_sampler_options({}).ok());
}

}  // namespace
}  // namespace pc
