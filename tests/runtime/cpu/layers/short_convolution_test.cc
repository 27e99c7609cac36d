// A gated short convolution equals the sum that defines it, however its rows are cut into sweeps
// and whoever's rows stand beside them.
#include "runtime/cpu/layers/short_convolution.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "tests/support/random.h"

using namespace pc;
using namespace pc::test;

namespace {

// One timeline's tokens, what its layer makes of them, and what comes out, in double precision.
struct Text {
  Text(Random& random, const pc_recurrent& r)
      : n(random.between(1, 40)), made(random.floats(std::size_t{n} * 3 * r.n_channels)) {
    const auto* conv = static_cast<const float*>(r.conv.data);
    const auto u = [&](std::int64_t i, std::uint32_t c) {
      if (i < 0) return 0.0;
      const float* const row = made.data() + static_cast<std::size_t>(i) * 3 * r.n_channels;
      return double{row[c]} * row[2 * r.n_channels + c];
    };
    for (std::uint32_t i = 0; i < n; ++i) {
      for (std::uint32_t c = 0; c < r.n_channels; ++c) {
        double sum = 0;
        for (std::uint32_t j = 0; j < r.n_taps; ++j)
          sum += conv[j * r.n_channels + c] * u(std::int64_t{i} - r.n_taps + 1 + j, c);
        want.push_back(sum * made[(i * std::size_t{3} + 1) * r.n_channels + c]);
      }
    }
  }

  std::uint32_t n, n_done = 0;
  std::vector<float> made;   // [n, 3 * n_channels]
  std::vector<double> want;  // [n, n_channels]
  std::vector<float> state;
};

}  // namespace

TEST_CASE("rows of several timelines, in sweeps of any size, get what the definition says") {
  Random random(GENERATE(range(1, 30)));
  pc_recurrent r{};
  r.n_channels = random.between(1, 20);
  r.n_taps = random.between(2, 6);
  const auto conv = random.floats(std::size_t{r.n_taps} * r.n_channels);
  r.conv = {conv.data(), PC_DTYPE_F32, r.n_taps, r.n_channels};
  const std::size_t width = 3 * std::size_t{r.n_channels}, before = random.below(5);
  const std::size_t n_numbers = before + std::size_t{r.n_taps - 1} * r.n_channels;
  std::vector<Text> texts;
  for (std::uint32_t i = random.between(1, 4); i-- > 0;) texts.emplace_back(random, r);
  for (Text& text : texts) text.state.assign(n_numbers, 0.0f);
  const Parallel parallel(2);

  while (std::ranges::any_of(texts, [](const Text& t) { return t.n_done < t.n; })) {
    std::vector<float> made, y;
    std::vector<RecurrentRows> rows;
    std::vector<std::vector<float>> after(texts.size(), std::vector<float>(n_numbers, NAN));
    std::vector<std::size_t> whose;
    for (std::size_t t = 0; t < texts.size(); ++t) {
      Text& text = texts[t];
      const std::uint32_t n = std::min(random.between(0, 7), text.n - text.n_done);
      if (n == 0) continue;
      const auto first = text.made.begin() + static_cast<std::ptrdiff_t>(text.n_done * width);
      rows.push_back(
          {static_cast<std::uint32_t>(made.size() / width), n, text.state.data(), after[t].data()});
      made.insert(made.end(), first, first + static_cast<std::ptrdiff_t>(n * width));
      whose.push_back(t);
    }
    if (rows.empty()) continue;
    y.assign(made.size() / 3, NAN);
    short_convolution({r, 0, before}, rows, simd::selected_or_scalar_kernels(), parallel,
                      made.data(), y.data());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Text& text = texts[whose[i]];
      for (std::size_t k = 0; k < std::size_t{rows[i].n} * r.n_channels; ++k) {
        const double want = text.want[text.n_done * std::size_t{r.n_channels} + k];
        REQUIRE(std::fabs(y[rows[i].first * std::size_t{r.n_channels} + k] - want) <= 2e-6);
      }
      text.n_done += rows[i].n;
      text.state = after[whose[i]];
    }
  }
}
