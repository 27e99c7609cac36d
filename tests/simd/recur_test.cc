// Recurrent states of every instruction set against the definition in double precision, token by
// token: shapes that fill no vector, chunks that are not full, decays of all sizes, states in
// place.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "simd/kernels.h"
#include "tests/support/random.h"

namespace pc::simd {
namespace {

using test::Random;

struct Case {
  std::size_t n, d_k, d_v;
  bool corrects;
  double least_decay;  // decays are drawn from here to 1
};

struct Tokens {
  std::vector<float> q, k, v, decay, write, state;
};

// Strides are larger than rows; keys are of length 1, as those that correct are.
constexpr std::size_t kGap = 3;

Tokens draw(const Case& c, Random& random) {
  Tokens t;
  const auto fill = [&](std::vector<float>* to, std::size_t n, double scale) {
    to->resize(n);
    for (float& x : *to) x = static_cast<float>(scale * random.symmetric());
  };
  fill(&t.q, c.n * (c.d_k + kGap), 1);
  fill(&t.k, c.n * (c.d_k + kGap), 1);
  fill(&t.v, c.n * (c.d_v + kGap), 1);
  fill(&t.state, state_numbers(c.d_k, c.d_v), 0);
  for (std::size_t column = 0; column < c.d_v; ++column)
    for (std::size_t r = 0; r < c.d_k; ++r)
      t.state[column / kStateColumns * kStateColumns * c.d_k + r * kStateColumns +
              column % kStateColumns] = static_cast<float>(random.symmetric());
  for (std::size_t i = 0; i < c.n; ++i) {
    float* const k = &t.k[i * (c.d_k + kGap)];
    double squares = 0;
    for (std::size_t r = 0; r < c.d_k; ++r) squares += k[r] * k[r];
    for (std::size_t r = 0; r < c.d_k; ++r) k[r] /= static_cast<float>(std::sqrt(squares) + 1e-9);
    t.decay.push_back(static_cast<float>(c.least_decay + (1 - c.least_decay) * random.uniform()));
    t.write.push_back(static_cast<float>(random.uniform()));
  }
  return t;
}

struct Made {
  std::vector<double> state, y;
};

Made define(const Case& c, const Tokens& t, bool has_values) {
  Made made{std::vector<double>(c.d_k * c.d_v), std::vector<double>(c.n * c.d_v)};
  for (std::size_t column = 0; column < c.d_v; ++column) {
    std::vector<double> s(c.d_k);
    for (std::size_t r = 0; r < c.d_k; ++r)
      s[r] = t.state[column / kStateColumns * kStateColumns * c.d_k + r * kStateColumns +
                     column % kStateColumns];
    for (std::size_t i = 0; i < c.n; ++i) {
      const float *const k = &t.k[i * (c.d_k + kGap)], *const q = &t.q[i * (c.d_k + kGap)];
      double predicted = 0, read = 0;
      for (double& x : s) x *= t.decay[i];
      for (std::size_t r = 0; c.corrects && r < c.d_k; ++r) predicted += s[r] * k[r];
      const double v = has_values ? t.v[i * (c.d_v + kGap) + column] : 0;
      for (std::size_t r = 0; r < c.d_k; ++r) s[r] += k[r] * t.write[i] * (v - predicted);
      for (std::size_t r = 0; r < c.d_k; ++r) read += s[r] * q[r];
      made.y[i * c.d_v + column] = read;
    }
    for (std::size_t r = 0; r < c.d_k; ++r) made.state[r * c.d_v + column] = s[r];
  }
  return made;
}

double largest(const std::vector<double>& all) {
  double most = 1;
  for (const double x : all) most = std::max(most, std::fabs(x));
  return most;
}

RecurArgs arguments(const Case& c, const Tokens& t, float* after, float* y) {
  return {t.q.data(),   t.k.data(), t.v.data(), y,   t.decay.data(), t.write.data(), c.d_k + kGap,
          c.d_v + kGap, c.d_v,      1,          c.n, c.d_k,          c.d_v,          t.state.data(),
          after,        c.corrects};
}

void compare(const Kernels& kernels, const Case& c, const Tokens& t, bool has_values) {
  INFO(kernels.name << ": " << c.n << " tokens of [" << c.d_k << ", " << c.d_v << "], "
                    << (c.corrects ? "corrected" : "added") << ", decays from " << c.least_decay
                    << (has_values ? "" : ", without values"));
  const Made want = define(c, t, has_values);
  std::vector<float> y(c.n * c.d_v), after = t.state, unread = t.state;
  RecurArgs args = arguments(c, t, after.data(), y.data());
  if (!has_values) args.v = nullptr;
  args.before = after.data();  // in place
  kernels.recur(args);
  const double allowed = 1e-5;
  double off = 0;
  for (std::size_t i = 0; i < y.size(); ++i)
    off = std::max(off, std::fabs(y[i] - want.y[i]) / largest(want.y));
  for (std::size_t column = 0; column < c.d_v; ++column)
    for (std::size_t r = 0; r < c.d_k; ++r)
      off = std::max(off, std::fabs(after[column / kStateColumns * kStateColumns * c.d_k +
                                          r * kStateColumns + column % kStateColumns] -
                                    want.state[r * c.d_v + column]) /
                              largest(want.state));
  CHECK(off <= allowed);
  args.before = t.state.data();
  args.after = unread.data();
  args.y = nullptr;
  args.q = nullptr;
  kernels.recur(args);
  double differ = 0;
  for (std::size_t i = 0; i < after.size(); ++i)
    differ = std::max(differ, std::fabs(double{after[i]} - unread[i]) / largest(want.state));
  CHECK(differ <= allowed);
}

TEST_CASE("a state is what its tokens make of it") {
  Random random(57);
  for (const Kernels* kernels : supported_kernels()) {
    for (const std::size_t n : {1, 2, 8, 9, 17, 130}) {
      for (const auto& [d_k, d_v] : {std::pair<std::size_t, std::size_t>{1, 1},
                                     {7, 20},
                                     {16, 16},
                                     {128, 40},
                                     {kMaxStateKeyDim, 17}}) {
        for (const bool corrects : {false, true}) {
          for (const double least_decay : {1.0, 0.999, 0.0}) {
            const Case c{n, d_k, d_v, corrects, least_decay};
            const Tokens t = draw(c, random);
            compare(*kernels, c, t, true);
            if (n == 9) compare(*kernels, c, t, false);
          }
        }
      }
    }
  }
}

TEST_CASE("a token whose decay is 0 forgets all before it") {
  Random random(58);
  const Case c{11, 16, 16, true, 0.5};
  Tokens t = draw(c, random);
  t.decay[6] = 0;
  for (const Kernels* kernels : supported_kernels()) compare(*kernels, c, t, true);
}

TEST_CASE("columns that are missing at the end of a state stay zeros") {
  Random random(59);
  const Case c{10, 8, 21, true, 0.5};
  const Tokens t = draw(c, random);
  for (const Kernels* kernels : supported_kernels()) {
    std::vector<float> after(t.state.size(), -1), y(c.n * c.d_v);
    kernels->recur(arguments(c, t, after.data(), y.data()));
    for (std::size_t r = 0; r < c.d_k; ++r)
      for (std::size_t column = c.d_v; column < 2 * kStateColumns; ++column)
        REQUIRE(after[(kStateColumns * c.d_k) + r * kStateColumns + column - kStateColumns] == 0);
  }
}

TEST_CASE("a map of states is a matrix product, in place as well") {
  Random random(61);
  for (const Kernels* kernels : supported_kernels()) {
    for (const auto& [d_k, d_v] : {std::pair<std::size_t, std::size_t>{1, 1},
                                   {7, 20},
                                   {16, 16},
                                   {128, 40},
                                   {kMaxStateKeyDim, 17}}) {
      const std::size_t n = state_numbers(d_k, d_v);
      std::vector<float> map(d_k * d_k), add(n), before(n), after(n);
      for (std::vector<float>* all : {&map, &add, &before})
        for (float& one : *all) one = static_cast<float>(random.symmetric());
      for (const float* more :
           {static_cast<const float*>(nullptr), static_cast<const float*>(add.data())}) {
        kernels->map_state(map.data(), more, d_k, d_v, before.data(), after.data());
        for (std::size_t at = 0; at < n; ++at) {
          const std::size_t first = at / (d_k * kStateColumns) * d_k * kStateColumns +
                                    at % kStateColumns,
                            i = at / kStateColumns % d_k;
          double want = more ? more[at] : 0.0, magnitude = std::fabs(want);
          for (std::size_t j = 0; j < d_k; ++j) {
            const double part = double{map[j * d_k + i]} * before[first + j * kStateColumns];
            want += part;
            magnitude += std::fabs(part);
          }
          REQUIRE(std::fabs(after[at] - want) <= (d_k + 1) * 0x1p-24 * magnitude);
        }
        std::vector<float> in_place = before;
        kernels->map_state(map.data(), more, d_k, d_v, in_place.data(), in_place.data());
        REQUIRE(in_place == after);
      }
    }
  }
}

TEST_CASE("a convolution adds up what its taps say") {
  Random random(60);
  for (const Kernels* kernels : supported_kernels()) {
    for (const std::size_t n : {1, 5, 16, 67}) {
      for (const std::size_t n_taps : {2, 4}) {
        std::vector<float> x(n_taps * n), w(n_taps * n), bias(n), y(n);
        for (std::vector<float>* all : {&x, &w, &bias})
          for (float& one : *all) one = static_cast<float>(random.symmetric());
        std::vector<const float*> inputs;
        for (std::size_t j = 0; j < n_taps; ++j) inputs.push_back(&x[j * n]);
        for (const float* b :
             {static_cast<const float*>(nullptr), static_cast<const float*>(bias.data())}) {
          kernels->convolve(inputs.data(), w.data(), b, n_taps, n, y.data());
          for (std::size_t c = 0; c < n; ++c) {
            double want = b ? b[c] : 0.0, magnitude = std::fabs(want);
            for (std::size_t j = 0; j < n_taps; ++j) {
              want += double{w[j * n + c]} * x[j * n + c];
              magnitude += std::fabs(double{w[j * n + c]} * x[j * n + c]);
            }
            REQUIRE(std::fabs(y[c] - want) <= (n_taps + 1) * 0x1p-24 * magnitude);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace pc::simd
