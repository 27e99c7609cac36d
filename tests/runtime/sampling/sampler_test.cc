#include "runtime/sampling/sampler.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
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

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The same choice by the book: everything sorted, then one filter after the other. Shares
// the random bits with the sampler and nothing else.
std::vector<std::int32_t> draws_by_sorting(const SamplerOptions& o, const std::vector<float>& given,
                                           int n) {
  std::vector<float> logits = given;
  for (float& l : logits)
    if (std::isnan(l)) l = -kInfinity;
  const float top = *std::max_element(logits.begin(), logits.end());
  std::vector<float> below(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i)
    below[i] = logits[i] == top ? 0.0f : (top - logits[i]) / o.temperature;
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return below[a] < below[b]; });
  if (o.top_k != 0 && o.top_k < order.size()) order.resize(o.top_k);
  const auto weight = [&](std::size_t i) { return double{std::exp(-below[i])}; };
  const auto total = [&] {
    double sum = 0.0;
    for (const std::size_t i : order) sum += weight(i);
    return sum;
  };
  double sum = 0.0;
  std::size_t kept = 0;
  for (const double all = total(); kept < order.size() && sum < o.top_p * all;)
    sum += weight(order[kept++]);
  if (o.top_p < 1.0f) order.resize(std::max<std::size_t>(kept, 1));
  while (order.size() > 1 && weight(order.back()) < o.min_p) order.pop_back();

  std::mt19937_64 random(o.seed);
  std::vector<std::int32_t> tokens;
  for (int i = 0; i < n; ++i) {
    double left = static_cast<double>(random() >> 11) * 0x1p-53 * total();
    std::size_t at = 0;
    while (at + 1 < order.size() && (left -= weight(order[at])) >= 0.0) ++at;
    tokens.push_back(static_cast<std::int32_t>(order[at]));
  }
  return tokens;
}

void check_draws(const SamplerOptions& o, const std::vector<float>& logits) {
  constexpr int kDraws = 10;
  Sampler sampler(o, static_cast<std::uint32_t>(logits.size()));
  std::vector<std::int32_t> tokens;
  for (int i = 0; i < kDraws; ++i) tokens.push_back(sampler.sample(logits));
  INFO("temperature " << o.temperature << ", top-k " << o.top_k << ", top-p " << o.top_p
                      << ", min-p " << o.min_p << ", " << logits.size() << " logits");
  REQUIRE(tokens == draws_by_sorting(o, logits, kDraws));
}

// Of every kind that a model or a defect may hand over.
std::vector<std::vector<float>> odd_logits(test::Random& random, std::size_t n) {
  std::vector<std::vector<float>> all;
  const std::vector<float> plain = random.floats(n, 6.0f);
  all.push_back(plain);
  all.push_back(std::vector<float>(n, 1.5f));  // one tie
  auto changed = [&](auto change) {
    std::vector<float> logits = plain;
    for (std::size_t i = 0; i < n; ++i) change(i, logits[i]);
    all.push_back(std::move(logits));
  };
  changed([](std::size_t, float& l) { l = std::round(l); });  // many ties
  changed([](std::size_t, float& l) { l = std::round(l / 4); });
  changed([](std::size_t i, float& l) { l = i % 3 == 0 ? l : -kInfinity; });
  changed([](std::size_t i, float& l) { l = i % 5 == 0 ? NAN : l; });
  changed([](std::size_t i, float& l) { l = i == 0 ? NAN : -kInfinity; });
  changed([](std::size_t i, float& l) { l = i % 7 == 2 ? kInfinity : l; });
  changed([](std::size_t, float& l) { l *= 1e-30f; });
  changed([](std::size_t, float& l) { l *= 5e37f; });  // their differences overflow
  changed([](std::size_t i, float& l) { l = i == 3 ? 1e4f : l; });
  changed(
      [](std::size_t i, float& l) { l = static_cast<float>(i) * 1e-7f; });  // in one narrow band
  return all;
}

TEST_CASE("draws are those of sorting everything, whatever the logits and the options") {
  test::Random random(11);
  for (const std::size_t n : {1, 2, 400}) {
    for (const std::vector<float>& logits : odd_logits(random, n)) {
      for (const float temperature : {1e-44f, 1e-3f, 0.7f, 1.0f, 3.0f, 1e6f, 3e38f}) {
        SamplerOptions o;
        o.temperature = temperature;
        o.seed = random.next();
        for (const std::uint32_t top_k : {0u, 1u, 7u, 399u, 400u, 5000u}) {
          o = {temperature, top_k, 1.0f, 0.0f, 1.0f, o.seed};
          check_draws(o, logits);
          for (const float top_p : {1e-30f, 0.1f, 0.5f, 0.95f, 0.99999994f}) {
            o.top_p = top_p;
            o.min_p = 0.0f;
            check_draws(o, logits);
            o.min_p = 0.3f;
            check_draws(o, logits);
          }
        }
      }
    }
  }
}

// Where the sampler looks for the likeliest tokens in columns, some of several tokens, and where
// k is about the number of those columns.
TEST_CASE("draws from thousands of tokens are those of sorting everything") {
  test::Random random(13);
  for (const std::size_t n : {4096, 4097, 10001}) {
    std::vector<std::vector<float>> all = odd_logits(random, n);
    all.push_back(random.floats(n, 6.0f));
    for (std::size_t i = 5; i < n; i += 4096) all.back()[i] = 9.0f;  // one column has the largest
    for (const std::vector<float>& logits : all) {
      for (const float temperature : {1e-44f, 0.7f, 3e38f}) {
        for (const std::uint32_t top_k : {0u, 1u, 40u, 4096u, 4097u, 9000u}) {
          for (const float min_p : {0.0f, 1e-45f, 0.05f}) {
            SamplerOptions o = {temperature, top_k, 1.0f, min_p, 1.0f, random.next()};
            check_draws(o, logits);
          }
        }
      }
    }
  }
}

TEST_CASE("greedy takes the first of the largest in any vocabulary") {
  test::Random random(14);
  for (const std::size_t n : {1, 2, 400, 4096, 4097, 10001}) {
    for (const std::vector<float>& logits : odd_logits(random, n)) {
      std::int32_t want = 0;
      float top = -kInfinity;
      for (std::size_t i = 0; i < n; ++i)
        if (logits[i] > top) top = logits[i], want = static_cast<std::int32_t>(i);
      REQUIRE(Sampler({}, static_cast<std::uint32_t>(n)).sample(logits) == want);
    }
  }
}

TEST_CASE("what was said is penalised wherever it stands in a large vocabulary") {
  test::Random random(15);
  SamplerOptions o = {0.7f, 40, 0.9f, 0.01f, 1.3f, 3};
  SamplerOptions plain = o;
  plain.repetition_penalty = 1.0f;
  const std::vector<float> logits = random.floats(10001, 6.0f);
  Sampler sampler(o, 10001);
  std::vector<float> lowered = logits;
  for (std::size_t i = 0; i < logits.size(); i += 2) {
    sampler.observe(static_cast<std::int32_t>(i));
    lowered[i] = logits[i] > 0.0f ? logits[i] / 1.3f : logits[i] * 1.3f;
  }
  REQUIRE(sampler.sample(logits) == draws_by_sorting(plain, lowered, 1)[0]);
}

TEST_CASE("a vocabulary of the largest models draws as sorting does") {
  test::Random random(12);
  std::vector<float> logits = random.floats(152064, 9.0f);
  for (std::size_t i = 0; i < logits.size(); i += 3) logits[i] = std::round(logits[i]);
  for (const float top_p : {0.9f, 1.0f}) {
    for (const std::uint32_t top_k : {0u, 50u, 100000u}) {
      SamplerOptions o;
      o.temperature = 0.9f;
      o.top_k = top_k;
      o.top_p = top_p;
      o.seed = top_k;
      check_draws(o, logits);
    }
  }
}

TEST_CASE("what is not a number, or -infinity, is never chosen while there is another") {
  const std::vector<float> logits = {NAN, -kInfinity, -50.0f, NAN};
  for (const float temperature : {0.0f, 1.0f, 1e9f}) {
    SamplerOptions o;
    o.temperature = temperature;
    REQUIRE(histogram(o, logits, 100) == std::map<std::int32_t, int>{{2, 100}});
  }
}

TEST_CASE("top-p 0, min-p 1 and top-k 1 keep the likeliest token alone") {
  const std::vector<float> logits = {-1.0f, 2.0f, 3.0f, 2.999f, 3.0f};
  const std::map<std::int32_t, int> first{{2, 100}};
  SamplerOptions o;
  o.temperature = 2.0f;
  o.top_p = 0.0f;
  REQUIRE(histogram(o, logits, 100) == first);
  o.top_p = 1.0f;
  o.top_k = 1;
  REQUIRE(histogram(o, logits, 100) == first);
  o.top_k = 0;
  o.min_p = 1.0f;
  const auto drawn = histogram(o, logits, 100);  // of equals each is as likely as the likeliest
  REQUIRE(drawn.size() == 2);
  REQUIRE(drawn.count(2) == 1);
  REQUIRE(drawn.count(4) == 1);
}

TEST_CASE("options out of range are refused") {
  const auto bad = [](auto set) {
    SamplerOptions o;
    set(o);
    const Status status = check_sampler_options(o, 100);
    return !status.ok() && status.error().code == Code::kInvalidArgument;
  };
  REQUIRE(bad([](auto& o) { o.temperature = -1.0f; }));
  REQUIRE(bad([](auto& o) { o.temperature = NAN; }));
  REQUIRE(bad([](auto& o) { o.top_p = -0.1f; }));
  REQUIRE(bad([](auto& o) { o.top_p = 1.5f; }));
  REQUIRE(bad([](auto& o) { o.min_p = 1.1f; }));
  REQUIRE(bad([](auto& o) { o.repetition_penalty = 0.0f; }));
  REQUIRE(bad([](auto& o) { o.presence_penalty = NAN; }));
  REQUIRE(bad([](auto& o) { o.frequency_penalty = INFINITY; }));
  REQUIRE(bad([](auto& o) { o.bias = {{100, 1.0f}}; }));
  REQUIRE(bad([](auto& o) { o.bias = {{-1, 1.0f}}; }));
  REQUIRE(bad([](auto& o) { o.bias = {{3, NAN}}; }));
  REQUIRE(bad([](auto& o) { o.bias = {{3, INFINITY}}; }));
  REQUIRE(check_sampler_options({}, 100).ok());
}

// One draw by the definition, from scores that are made in double precision.
TEST_CASE("penalties, bias and mask change the scores as they say") {
  test::Random random(11);
  for (int round = 0; round < 100; ++round) {
    const std::uint32_t n = random.between(33, 300);
    SamplerOptions o;
    o.presence_penalty = random.symmetric();
    o.frequency_penalty = random.symmetric();
    o.repetition_penalty = random.chance(0.5) ? 1.0f : 1.3f;
    const std::vector<float> logits = random.floats(n, 3.0f);
    for (int i = 0; i < 5; ++i)
      o.bias.push_back({static_cast<std::int32_t>(random.below(n)),
                        random.chance(0.2) ? -INFINITY : 2.0f * random.symmetric()});
    std::vector<std::uint32_t> allowed((n + 31) / 32);
    for (std::uint32_t& word : allowed) word = static_cast<std::uint32_t>(random.next());
    std::vector<int> said(n), drawn(n);
    Sampler sampler(o, n);
    for (int i = 0; i < 4; ++i) {
      const auto token = static_cast<std::int32_t>(random.below(n));
      sampler.observe(token);
      ++said[static_cast<std::size_t>(token)];
    }
    for (int step = 0; step < 20; ++step) {
      const bool masked = random.chance(0.5);
      std::int32_t want = -1;
      double best = -INFINITY;
      for (std::uint32_t t = 0; t < n; ++t) {
        double score = logits[t];
        if (said[t])
          score = score > 0 ? score / o.repetition_penalty : score * o.repetition_penalty;
        if (drawn[t]) score -= o.presence_penalty + double{o.frequency_penalty} * drawn[t];
        for (const TokenBias& b : o.bias)
          if (b.token == static_cast<std::int32_t>(t)) score += b.bias;
        if (masked && (allowed[t / 32] >> t % 32 & 1u) == 0) score = -INFINITY;
        if (score > best) best = score, want = static_cast<std::int32_t>(t);
      }
      const auto got = masked ? sampler.sample(logits, allowed) : sampler.sample(logits);
      REQUIRE(got == want);
      ++said[static_cast<std::size_t>(got)];
      ++drawn[static_cast<std::size_t>(got)];
      if (random.chance(0.1)) {
        sampler.begin_answer({});
        std::fill(drawn.begin(), drawn.end(), 0);
      }
    }
  }
}

TEST_CASE("a masked token is never drawn, at any temperature; nothing is, where none is left") {
  std::vector<std::uint32_t> allowed = {0b0101u};
  const std::vector<float> logits = {1.0f, 9.0f, 1.0f, 9.0f};
  SamplerOptions o;
  o.temperature = 1.0f;
  Sampler sampler(o, 4);
  for (int i = 0; i < 200; ++i) REQUIRE(sampler.sample(logits, allowed) % 2 == 0);
  allowed[0] = 0;
  CHECK(sampler.sample(logits, allowed) == -1);
  CHECK(sampler.sample(logits) >= 0);
}

TEST_CASE("log-probabilities are those of the softmax") {
  test::Random random(3);
  const std::vector<float> logits = random.floats(500, 20.0f);
  double sum = 0;
  for (const float l : logits) sum += std::exp(double{l});
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  const auto top = top_logprobs(logits, 20);
  REQUIRE(top.size() == 20);
  for (std::size_t i = 0; i < top.size(); ++i) {
    CHECK(top[i].token == static_cast<std::int32_t>(order[i]));
    const double want = double{logits[order[i]]} - std::log(sum);
    CHECK(std::fabs(top[i].logprob - want) <= 1e-4);
    CHECK(std::fabs(logprob_of(logits, top[i].token) - want) <= 1e-4);
  }
  CHECK(top_logprobs(logits, 1000).size() == 500);
  CHECK(top_logprobs(logits, 0).empty());
}

}  // namespace
}  // namespace pc
