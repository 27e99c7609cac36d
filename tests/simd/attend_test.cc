// Attention over packed keys and values: every table this CPU runs, and the bf16
// path with its dot product spelled out, against a plain softmax in double. All
// tolerances are computed from the inputs.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "simd/kernels.h"
#include "tests/simd/attend_stand_in.h"
#include "tests/support/random.h"

namespace pc::simd {
namespace {

using test::Random;

constexpr double kEps = std::numeric_limits<float>::epsilon();
constexpr double kBf16Rounding = 0x1p-8;  // 8 bits of significand, to nearest
constexpr double kCoarseExp = 1e-4;       // of exp where its values are rounded to bf16 next

// What is tested, and where it rounds queries and weights to bf16.
struct Subject {
  std::string name;
  void (*attend)(const AttendArgs& args);
  std::size_t pair_lanes;  // 0: it never rounds

  bool rounds(bool bf16, std::size_t hd) const {
    return bf16 && pair_lanes != 0 && hd % pair_lanes == 0;
  }
};

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  decltype(Kernels::attend) rounding = nullptr;
  for (const Kernels* table : supported_kernels())
    if (std::strcmp(table->name, "avx512_bf16") == 0) rounding = table->attend;
  for (const Kernels* table : supported_kernels())
    all.push_back({table->name, table->attend, table->attend == rounding ? std::size_t{16} : 0});
  for (const AttendStandIn& s : attend_stand_ins())
    all.push_back({std::string("bf16 pairs by ") + s.name, s.attend, s.lanes});
  return all;
}

float to_bf16_and_back(float x) {
  return f32_from_bf16(bf16_from_f32(x));
}

// Rows of queries against n tokens, and what may change their scores.
struct Problem {
  bool bf16;
  std::size_t hd, n, rows;
  std::vector<float> q, k, v;
  std::vector<std::uint32_t> begin, end;
  float softcap = 0.0f;
  std::vector<float> slope, origin;  // empty, or [rows]
  std::vector<std::uint8_t> keys, values;

  explicit Problem(Random& random)
      : bf16(random.chance(0.7)),
        hd(random.chance(0.5) ? 16 * random.between(1, 5) : 2 * random.between(1, 40)),
        // Now and then more than the walk takes at a time, so that its passes join.
        n(random.chance(0.1) ? random.between(1500, 5000) : random.between(1, 300)),
        rows(random.between(1, 19)),
        q(random.floats(rows * hd)),
        k(random.floats(n * hd, 2.0f)),
        v(random.floats(n * hd)),
        begin(rows),
        end(rows) {
    if (bf16) {
      for (auto* plane : {&k, &v})
        for (float& x : *plane) x = to_bf16_and_back(x);
    }
    for (std::size_t r = 0; r < rows; ++r) {
      begin[r] = random.chance(0.5) ? 0 : random.below(static_cast<std::uint32_t>(n));
      end[r] = random.between(0, static_cast<std::uint32_t>(n));
    }
    if (random.chance(0.5)) softcap = 1.5f;
    if (random.chance(0.5)) {
      slope = random.floats(rows, 0.5f);
      for (std::size_t r = 0; r < rows; ++r)
        origin.push_back(-static_cast<float>(random.below(400)));
    }
    pack();
  }

  void put(std::vector<std::uint8_t>& plane, std::size_t index, float x) const {
    const std::uint16_t half = bf16_from_f32(x);
    if (bf16)
      std::memcpy(plane.data() + 2 * index, &half, 2);
    else
      std::memcpy(plane.data() + 4 * index, &x, 4);
  }

  void pack() {
    keys.resize((n + 15) / 16 * 16 * hd * (bf16 ? 2 : 4));
    values.resize(keys.size());
    for (std::size_t t = 0; t < n; ++t) {
      for (std::size_t d = 0; d < hd; ++d) {
        const std::size_t block = t / 16 * 16 * hd;
        put(keys, bf16 ? block + (d / 2 * 16 + t % 16) * 2 + d % 2 : block + d * 16 + t % 16,
            k[t * hd + d]);
        put(values, bf16 ? (t / 2 * hd + d) * 2 + t % 2 : t * hd + d, v[t * hd + d]);
      }
    }
  }

  double score(std::size_t r, std::size_t t, bool rounded) const {
    double s = 0.0;
    for (std::size_t d = 0; d < hd; ++d) {
      const float x = rounded ? to_bf16_and_back(q[r * hd + d]) : q[r * hd + d];
      s += static_cast<double>(x) * k[t * hd + d];
    }
    if (softcap != 0.0f) s = softcap * std::tanh(s / softcap);
    if (!slope.empty()) s += slope[r] * (static_cast<double>(origin[r]) + static_cast<double>(t));
    return s;
  }
};

// Running states, as attention keeps them.
struct State {
  std::vector<float> max, sum, acc;
  explicit State(const Problem& p)
      : max(p.rows, -std::numeric_limits<float>::infinity()),
        sum(p.rows, 0.0f),
        acc(p.rows * p.hd, 0.0f) {}

  // In two calls, so that the running state is carried over a split.
  void run(const Problem& p, const Subject& subject, std::uint32_t cut) {
    auto first_end = p.end, second_begin = p.begin;
    for (auto& e : first_end) e = std::min(e, cut);
    for (auto& b : second_begin) b = std::max(b, cut);
    attend(p, subject, p.begin, first_end);
    attend(p, subject, second_begin, p.end);
  }

  void attend(const Problem& p, const Subject& subject, const std::vector<std::uint32_t>& begin,
              const std::vector<std::uint32_t>& end) {
    subject.attend({p.q.data(), p.keys.data(), p.values.data(), begin.data(), end.data(),
                    max.data(), sum.data(), acc.data(), p.rows, p.hd, p.bf16, p.softcap,
                    p.slope.empty() ? nullptr : p.slope.data(), p.origin.data()});
  }
};

// One row by the definition, and how far a kernel may be from it.
struct Expected {
  std::vector<double> out, tolerance;  // [hd]

  Expected(const Problem& p, std::size_t r, bool rounds) : out(p.hd, 0.0), tolerance(p.hd, 0.0) {
    std::vector<double> weight(p.n);
    double top = -std::numeric_limits<double>::infinity(), total = 0.0;
    for (std::size_t t = p.begin[r]; t < p.end[r]; ++t) {
      weight[t] = p.score(r, t, rounds);
      top = std::max(top, weight[t]);
    }
    for (std::size_t t = p.begin[r]; t < p.end[r]; ++t) {
      weight[t] = std::exp(weight[t] - top);
      total += weight[t];
    }
    for (std::size_t t = p.begin[r]; t < p.end[r]; ++t)
      for (std::size_t d = 0; d < p.hd; ++d) out[d] += weight[t] / total * p.v[t * p.hd + d];
    // A score's rounding (hd products of magnitude <= 2, a bias of at most 0.5 *
    // 5000) scales a weight by exp of it; |v| <= 1; the sums of n terms add n
    // roundings.
    const double bias = p.slope.empty() ? 0.0 : 4.0 * 0.5 * static_cast<double>(p.n + 400);
    const double f32 =
        kEps * (8.0 * static_cast<double>(p.hd) + bias + static_cast<double>(p.n) + 16.0);
    // Weights w (1 + e), |e| <= u, that are summed as rounded move the mean of v by
    // sum e w (v - mean) / sum (1 + e) w.
    const double e = kBf16Rounding + kCoarseExp;
    const double u = rounds ? e / (1.0 - e) : 0.0;
    for (std::size_t t = p.begin[r]; t < p.end[r]; ++t)
      for (std::size_t d = 0; d < p.hd; ++d)
        tolerance[d] += u * weight[t] / total * std::fabs(p.v[t * p.hd + d] - out[d]);
    for (double& x : tolerance) x += f32;
  }
};

TEST_CASE("attend agrees with a plain softmax") {
  Random random(2);
  std::string names;
  for (const Subject& subject : subjects()) names += "\n  " + subject.name;
  std::printf("attention run:%s\n", names.c_str());
  for (int round = 0; round < 120; ++round) {
    const Problem p(random);
    const std::uint32_t cut = random.below(static_cast<std::uint32_t>(p.n + 1));
    for (std::size_t rounded = 0; rounded < 2; ++rounded) {
      std::vector<Expected> expected;
      for (std::size_t r = 0; r < p.rows; ++r) expected.emplace_back(p, r, rounded != 0);
      for (const Subject& subject : subjects()) {
        if (subject.rounds(p.bf16, p.hd) != (rounded != 0)) continue;
        INFO(subject.name << ", head_dim " << p.hd << ", tokens " << p.n);
        State state(p);
        state.run(p, subject, cut);
        for (std::size_t r = 0; r < p.rows; ++r) {
          if (p.begin[r] >= p.end[r]) {
            REQUIRE(state.sum[r] == 0.0f);
            continue;
          }
          double worst = -1.0;  // beyond its tolerance
          for (std::size_t d = 0; d < p.hd; ++d) {
            const double got = state.acc[r * p.hd + d] / state.sum[r];
            worst = std::max(worst, std::fabs(got - expected[r].out[d]) - expected[r].tolerance[d]);
          }
          REQUIRE(worst <= 0.0);
        }
      }
    }
  }
}

// A head as long as the kernels' scratch allows.
TEST_CASE("attend takes the longest head") {
  Random random(5);
  for (const Subject& subject : subjects()) {
    INFO(subject.name);
    Problem p(random);
    p.bf16 = true;
    p.hd = kMaxAttendHeadDim;
    p.n = 40;
    p.rows = 8;
    p.q = random.floats(p.rows * p.hd, 0.1f);
    p.k = random.floats(p.n * p.hd);
    p.v = random.floats(p.n * p.hd);
    for (auto* plane : {&p.k, &p.v})
      for (float& x : *plane) x = to_bf16_and_back(x);
    p.begin.assign(p.rows, 0);
    p.end.assign(p.rows, 40);
    p.slope.clear();
    p.pack();
    State state(p);
    state.run(p, subject, 16);
    for (std::size_t r = 0; r < p.rows; ++r) {
      const Expected expected(p, r, subject.rounds(true, p.hd));
      for (std::size_t d = 0; d < p.hd; ++d)
        REQUIRE(std::fabs(state.acc[r * p.hd + d] / state.sum[r] - expected.out[d]) <=
                expected.tolerance[d]);
    }
  }
}

// Every 1009th float of [-87, 0], as many as are a multiple of 16.
std::vector<float> not_positive() {
  std::vector<float> x;
  for (std::uint32_t bits = 0x80000000u; bits <= 0xc2ae0000u; bits += 1009) {
    float value;
    std::memcpy(&value, &bits, 4);
    x.push_back(value);
  }
  x.resize(x.size() / 16 * 16);
  return x;
}

// The largest |exp(x) - its value| in units that `unit` gives for the value.
template <class Unit>
double worst_exp(void (*exp)(const float*, std::size_t, float*), Unit unit) {
  const std::vector<float> x = not_positive();
  std::vector<float> y(x.size());
  exp(x.data(), x.size(), y.data());
  double worst = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double want = std::exp(static_cast<double>(x[i]));
    worst = std::max(worst, std::fabs(y[i] - want) / unit(want));
  }
  return worst;
}

TEST_CASE("the walk's exponential is within 2 ulp, and 1e-4 where it is rounded to bf16") {
  for (const AttendStandIn& s : attend_stand_ins()) {
    INFO(s.name);
    const double fine =
        worst_exp(s.exp_negative, [](double y) { return std::ldexp(1.0, std::ilogb(y) - 23); });
    const double coarse = worst_exp(s.exp_coarse, [](double y) { return y; });
    std::printf("exp by %s: %.2f ulp; coarse: %.1e\n", s.name, fine, coarse);
    REQUIRE(fine <= 2.0);
    REQUIRE(coarse <= kCoarseExp);
    for (const auto exp : {s.exp_negative, s.exp_coarse}) {
      float y[16];
      const float far[16] = {-HUGE_VALF, -88.0f, -1e30f, 0.0f};
      exp(far, 16, y);
      for (int i = 0; i < 3; ++i) REQUIRE(y[i] == 0.0f);
      REQUIRE(to_bf16_and_back(y[3]) == 1.0f);
    }
    const float zero[16] = {};
    float one[16];
    s.exp_negative(zero, 16, one);
    REQUIRE(one[0] == 1.0f);
  }
}

}  // namespace
}  // namespace pc::simd
