#include "tools/bench/compare/rank_test.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pc::cli {
namespace {

constexpr std::size_t kMostExact = 40;             // C(40, 20) sums are exact in a double
constexpr double kTail = 0.025;                    // on each side of an interval of 95 %
constexpr double kNormalTail = 1.959963984540054;  // of a normal distribution, for that tail

struct Ranks {
  std::vector<std::size_t> doubled;  // of all samples, twice each rank: ties share halves
  std::size_t sum_a = 0;             // of those of a
  double ties = 0;                   // sum of t^3 - t
};

Ranks ranks_of(const Samples& a, const Samples& b) {
  Samples all = a;
  all.insert(all.end(), b.begin(), b.end());
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return all[i] < all[j]; });
  Ranks ranks;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && all[order[end]] == all[order[begin]]) ++end;
    const auto t = static_cast<double>(end - begin);
    ranks.ties += t * t * t - t;
    for (std::size_t i = begin; i < end; ++i) {
      ranks.doubled.push_back(begin + 1 + end);
      if (order[i] < a.size()) ranks.sum_a += begin + 1 + end;
    }
  }
  return ranks;
}

// In how many ways n of the ranks have each sum.
std::vector<double> ways_of_sums(const std::vector<std::size_t>& ranks, std::size_t n) {
  const std::size_t most = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(most + 1, 0.0));
  ways[0][0] = 1;
  for (const std::size_t rank : ranks)
    for (std::size_t k = n; k > 0; --k)
      for (std::size_t sum = most; sum >= rank; --sum) ways[k][sum] += ways[k - 1][sum - rank];
  return ways[n];
}

double exact_chance(const Ranks& ranks, std::size_t n_a) {
  const std::vector<double> ways = ways_of_sums(ranks.doubled, n_a);
  const double middle = static_cast<double>(n_a) * static_cast<double>(ranks.doubled.size() + 1);
  const double distance = std::abs(static_cast<double>(ranks.sum_a) - middle);
  double all = 0, as_far = 0;
  for (std::size_t sum = 0; sum < ways.size(); ++sum) {
    all += ways[sum];
    if (std::abs(static_cast<double>(sum) - middle) >= distance) as_far += ways[sum];
  }
  return as_far / all;
}

// The deviation of the sum of ranks, which ties make smaller.
double rank_deviation(double n_a, double n_b, double ties) {
  const double n = n_a + n_b;
  return std::sqrt(n_a * n_b / 12 * (n + 1 - ties / (n * (n - 1))));
}

double normal_chance(const Ranks& ranks, double n_a, double n_b) {
  const double distance =
      std::abs(static_cast<double>(ranks.sum_a) / 2 - n_a * (n_a + n_b + 1) / 2);
  const double deviation = rank_deviation(n_a, n_b, ranks.ties);
  if (deviation == 0) return 1;  // all are equal
  return std::erfc(std::max(distance - 0.5, 0.0) / deviation / std::sqrt(2.0));
}

// How many of the smallest ratios lie below an interval, and of the largest above it: 0 where even
// the whole range is too narrow for its confidence.
std::size_t cut_off(std::size_t n_a, std::size_t n_b) {
  if (n_a + n_b > kMostExact) {
    const auto a = static_cast<double>(n_a), b = static_cast<double>(n_b);
    return static_cast<std::size_t>(
        std::max(a * b / 2 - kNormalTail * rank_deviation(a, b, 0), 0.0));
  }
  std::vector<std::size_t> ranks(n_a + n_b);
  std::iota(ranks.begin(), ranks.end(), std::size_t{1});
  const std::vector<double> ways = ways_of_sums(ranks, n_a);
  const double all = std::accumulate(ways.begin(), ways.end(), 0.0);
  const std::size_t least_sum = n_a * (n_a + 1) / 2;
  double below = 0;
  std::size_t cut = 0;
  while ((below += ways[least_sum + cut]) / all <= kTail) ++cut;
  return cut;
}

}  // namespace

double rank_test(const Samples& a, const Samples& b) {
  const Ranks ranks = ranks_of(a, b);
  if (ranks.doubled.size() <= kMostExact) return exact_chance(ranks, a.size());
  return normal_chance(ranks, static_cast<double>(a.size()), static_cast<double>(b.size()));
}

double least_chance(std::size_t n_a, std::size_t n_b) {
  double ways = 1;
  for (std::size_t i = 1; i <= n_a; ++i)
    ways *= static_cast<double>(n_b + i) / static_cast<double>(i);
  return std::min(2 / ways, 1.0);
}

Ratio ratio_of(const Samples& a, const Samples& b) {
  Samples ratios;
  for (const double x : a)
    for (const double y : b) ratios.push_back(y / x);
  std::sort(ratios.begin(), ratios.end());
  Ratio ratio{quantile(ratios, 0.5), {}};
  if (const std::size_t cut = cut_off(a.size(), b.size()); cut != 0)
    ratio.interval = {ratios[cut - 1], ratios[ratios.size() - cut]};
  return ratio;
}

std::vector<double> corrected(const std::vector<double>& chances) {
  std::vector<std::size_t> order(chances.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return chances[i] < chances[j]; });
  std::vector<double> out(chances.size());
  double least = 0;  // none may be below one that is more certain
  for (std::size_t i = 0; i < order.size(); ++i) {
    least = std::max(least, chances[order[i]] * static_cast<double>(order.size() - i));
    out[order[i]] = std::min(least, 1.0);
  }
  return out;
}

}  // namespace pc::cli
