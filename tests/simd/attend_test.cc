// Attention over packed keys and values: every table this CPU runs, and the bf16 and
// q8 paths with their dot products spelled out, against a plain softmax in double.
// All tolerances are computed from the inputs.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "simd/kernels.h"
#include "tests/modules/support.h"
#include "tests/simd/attend_stand_in.h"
#include "tests/support/random.h"

namespace pc::simd {
namespace {

using test::Random;

constexpr double kEps = std::numeric_limits<float>::epsilon();
constexpr double kBf16Rounding = 0x1p-8;  // 8 bits of significand, to nearest
constexpr double kCoarseExp = 1e-4;       // of exp where its values are rounded to bf16 next

// What a path rounds besides the states: nothing, queries and weights to bf16, or both to
// 8 bits, or weights to 7 of them.
enum class Rounds { kNothing, kPairs, kQuads, kSignedQuads };

// What is tested, and where it multiplies by dot products.
struct Subject {
  std::string name;
  void (*attend)(const AttendArgs& args);
  std::size_t pair_lanes, quad_lanes;  // 0: it never does
  Rounds quads = Rounds::kQuads;

  Rounds rounds(KvFormat format, std::size_t hd) const {
    const auto fits = [hd](std::size_t lanes) { return lanes != 0 && hd % lanes == 0; };
    if (format == KvFormat::kBf16 && fits(pair_lanes)) return Rounds::kPairs;
    if (format == KvFormat::kQ8 && fits(quad_lanes)) return quads;
    return Rounds::kNothing;
  }
};

bool has_vnni() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

// A table by its name: "amx" attends as the table that it completes.
Subject subject_of(const Kernels& table) {
  const std::string name = table.name;
  const auto is = [&](const char* other) {
    for (const Kernels* t : supported_kernels())
      if (std::strcmp(t->name, other) == 0 && t->attend == table.attend) return true;
    return name == other;
  };
  if (is("avx512_bf16")) return {name, table.attend, 16, 16};
  if (is("avx512")) return {name, table.attend, 0, has_vnni() ? std::size_t{16} : 0};
  if (is("avx2")) return {name, table.attend, 0, 8, Rounds::kSignedQuads};
  if (is("neon_bf16")) return {name, table.attend, 4, 4, Rounds::kSignedQuads};
  if (is("neon_dot")) return {name, table.attend, 0, 4, Rounds::kSignedQuads};
  return {name, table.attend, 0, 0};
}

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const Kernels* table : supported_kernels()) all.push_back(subject_of(*table));
  for (const AttendStandIn& s : attend_stand_ins()) {
    const std::string name = s.name;
    all.push_back({"dot products by " + name, s.attend, s.lanes, s.lanes});
    all.push_back(
        {"signed dot products by " + name, s.attend_signed, 0, s.lanes, Rounds::kSignedQuads});
    all.push_back({"widened by " + name, s.attend_widened, 0, 0});
  }
  return all;
}

float to_bf16_and_back(float x) {
  return f32_from_bf16(bf16_from_f32(x));
}

// Rows of queries against n tokens, and what may change their scores.
struct Problem {
  KvFormat format;
  std::size_t hd, n, rows;
  std::vector<float> q, k, v;
  std::vector<std::uint32_t> begin, end;
  float softcap = 0.0f;
  std::vector<float> slope, origin;     // empty, or [rows]
  std::vector<float> k_scale, v_scale;  // q8: [n]
  std::vector<std::uint8_t> keys, values;

  explicit Problem(Random& random)
      : format(KvFormat{random.between(1, 3)}),
        hd(random.chance(0.5)        ? 16 * random.between(1, 5)
           : format == KvFormat::kQ8 ? 4 * random.between(1, 20)
                                     : 2 * random.between(1, 40)),
        // Now and then more than the walk takes at a time, so that its passes join.
        n(random.chance(0.1) ? random.between(1500, 5000) : random.between(1, 300)),
        rows(random.between(1, 19)),
        q(random.floats(rows * hd)),
        k(random.floats(n * hd, 2.0f)),
        v(random.floats(n * hd)),
        begin(rows),
        end(rows) {
    round(random);
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

  // Makes k and v what their format can say.
  void round(Random& random) {
    if (format == KvFormat::kBf16)
      for (auto* plane : {&k, &v})
        for (float& x : *plane) x = to_bf16_and_back(x);
    if (format != KvFormat::kQ8) return;
    round_q8(random, k, k_scale);
    round_q8(random, v, v_scale);
  }

  // Codes of whole range under scales of different size, now and then zero.
  void round_q8(Random& random, std::vector<float>& plane, std::vector<float>& scales) const {
    const float top = *std::max_element(plane.begin(), plane.end());
    scales.clear();
    for (std::size_t t = 0; t < n; ++t) {
      scales.push_back(random.chance(0.05) ? 0.0f
                                           : top / 127 / static_cast<float>(random.between(1, 9)));
      for (std::size_t d = 0; d < hd; ++d) {
        float& x = plane[t * hd + d];
        x = scales[t] * std::clamp(std::nearbyint(x * 127 / top), -127.0f, 127.0f);
      }
    }
  }

  // What lies where: tests/modules/support.h.
  void pack() {
    const KvGeometry g{1, 1, static_cast<std::uint32_t>(hd),
                       KvType{static_cast<std::uint32_t>(format)}};
    keys.assign((n + 15) / 16 * g.block_bytes(), 0);
    values = keys;
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t d = 0; d < test::n_elements(g); ++d) {
        put(keys.data() + test::value_offset(g, test::Plane::kKeys, t, d), k, k_scale, t, d, 128);
        put(values.data() + test::value_offset(g, test::Plane::kValues, t, d), v, v_scale, t, d, 0);
      }
  }

  void put(std::uint8_t* to, const std::vector<float>& plane, const std::vector<float>& scales,
           std::size_t t, std::size_t d, int zero) const {
    if (d == hd) {
      std::memcpy(to, &scales[t], 4);
    } else if (format == KvFormat::kF32) {
      std::memcpy(to, &plane[t * hd + d], 4);
    } else if (format == KvFormat::kBf16) {
      const std::uint16_t half = bf16_from_f32(plane[t * hd + d]);
      std::memcpy(to, &half, 2);
    } else {
      const float code = scales[t] > 0.0f ? plane[t * hd + d] / scales[t] : 0.0f;
      *to = static_cast<std::uint8_t>(static_cast<int>(std::nearbyint(code)) + zero);
    }
  }

  // A query as a path multiplies it.
  float query(std::size_t r, std::size_t d, Rounds rounds) const {
    const float* row = q.data() + r * hd;
    if (rounds == Rounds::kPairs) return to_bf16_and_back(row[d]);
    if (rounds == Rounds::kNothing) return row[d];
    float top = 0.0f;
    for (std::size_t i = 0; i < hd; ++i) top = std::max(top, std::fabs(row[i]));
    return std::nearbyint(row[d] * (127.0f / top)) * (top / 127.0f);
  }

  double score(const std::vector<float>& row, std::size_t r, std::size_t t) const {
    double s = 0.0;
    for (std::size_t d = 0; d < hd; ++d) s += static_cast<double>(row[d]) * k[t * hd + d];
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
                    max.data(), sum.data(), acc.data(), p.rows, p.hd, p.format, p.softcap,
                    p.slope.empty() ? nullptr : p.slope.data(), p.origin.data()});
  }
};

// One row by the definition, and how far a kernel may be from it.
struct Expected {
  std::vector<double> out, tolerance;  // [hd]

  Expected(const Problem& p, std::size_t r, Rounds rounds) : out(p.hd, 0.0), tolerance(p.hd, 0.0) {
    std::vector<float> q;
    for (std::size_t d = 0; d < p.hd; ++d) q.push_back(p.query(r, d, rounds));
    std::vector<double> weight(p.n);
    double top = -std::numeric_limits<double>::infinity(), total = 0.0;
    for (std::size_t t = p.begin[r]; t < p.end[r]; ++t) {
      weight[t] = p.score(q, r, t);
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
    const double e = (rounds == Rounds::kPairs ? kBf16Rounding : 0.0) + kCoarseExp;
    const double u = rounds == Rounds::kNothing ? 0.0 : e / (1.0 - e);
    for (std::size_t t = p.begin[r]; t < p.end[r]; ++t)
      for (std::size_t d = 0; d < p.hd; ++d)
        tolerance[d] += u * weight[t] / total * std::fabs(p.v[t * p.hd + d] - out[d]);
    if (rounds == Rounds::kQuads) add_steps(p, r, weight, total, 255);
    if (rounds == Rounds::kSignedQuads) add_steps(p, r, weight, total, 127);
    for (double& x : tolerance) x += f32;
  }

  // A weight times its value's scale is off by at most a step of the largest of its
  // block (and what the exponential is off).
  void add_steps(const Problem& p, std::size_t r, const std::vector<double>& weight, double total,
                 double weight_steps) {
    for (std::size_t block = p.begin[r] / 16 * 16; block < p.end[r]; block += 16) {
      const std::size_t from = std::max<std::size_t>(block, p.begin[r]);
      const std::size_t to = std::min<std::size_t>(block + 16, p.end[r]);
      double most = 0.0;
      for (std::size_t t = from; t < to; ++t)
        most = std::max(most, weight[t] / total * static_cast<double>(p.v_scale[t]));
      const double step = most * (1.0 + 2 * kCoarseExp) / weight_steps;
      for (std::size_t t = from; t < to; ++t)
        for (std::size_t d = 0; d < p.hd && p.v_scale[t] != 0.0f; ++d)
          tolerance[d] += step * std::fabs(static_cast<double>(p.v[t * p.hd + d] / p.v_scale[t]));
    }
  }
};

TEST_CASE("attend agrees with a plain softmax") {
  Random random(2);
  std::string names;
  for (const Subject& subject : subjects()) names += "\n  " + subject.name;
  std::printf("attention run:%s\n", names.c_str());
  for (int round = 0; round < 180; ++round) {
    const Problem p(random);
    const std::uint32_t cut = random.below(static_cast<std::uint32_t>(p.n + 1));
    for (const Rounds rounds :
         {Rounds::kNothing, Rounds::kPairs, Rounds::kQuads, Rounds::kSignedQuads}) {
      std::vector<Subject> alike = subjects();
      std::erase_if(alike, [&](const Subject& s) { return s.rounds(p.format, p.hd) != rounds; });
      std::vector<Expected> expected;
      for (std::size_t r = 0; r < p.rows && !alike.empty(); ++r)
        expected.emplace_back(p, r, rounds);
      for (const Subject& subject : alike) {
        INFO(subject.name << ", format " << static_cast<int>(p.format) << ", head_dim " << p.hd
                          << ", tokens " << p.n);
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
    for (const KvFormat format : {KvFormat::kF32, KvFormat::kBf16, KvFormat::kQ8}) {
      INFO(subject.name << ", format " << static_cast<int>(format));
      Problem p(random);
      p.format = format;
      p.hd = kMaxAttendHeadDim;
      p.n = 40;
      p.rows = 8;
      p.q = random.floats(p.rows * p.hd, 0.1f);
      p.k = random.floats(p.n * p.hd);
      p.v = random.floats(p.n * p.hd);
      p.round(random);
      p.begin.assign(p.rows, 0);
      p.end.assign(p.rows, 40);
      p.slope.clear();
      p.pack();
      State state(p);
      state.run(p, subject, 16);
      for (std::size_t r = 0; r < p.rows; ++r) {
        const Expected expected(p, r, subject.rounds(format, p.hd));
        for (std::size_t d = 0; d < p.hd; ++d)
          REQUIRE(std::fabs(state.acc[r * p.hd + d] / state.sum[r] - expected.out[d]) <=
                  expected.tolerance[d]);
      }
    }
  }
}

// A number that is none must not vanish, whatever its bits; nor reach who does not see it.
TEST_CASE("a key or a query that is not a number shows in what sees it, and in nothing else") {
  Random random(7);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> bad = {kInf, -kInf};
  for (const std::uint32_t bits : {0x7fc00000u, 0x7fc00001u, 0xffffffffu, 0x7fc12345u}) {
    bad.emplace_back();
    std::memcpy(&bad.back(), &bits, 4);
  }
  for (const Subject& subject : subjects()) {
    for (const KvFormat format : {KvFormat::kF32, KvFormat::kBf16, KvFormat::kQ8}) {
      for (const float x : bad) {
        for (const bool in_key : {true, false}) {
          if (in_key && std::isinf(x)) continue;  // a score that is -inf weighs nothing
          INFO(subject.name << ", format " << static_cast<int>(format)
                            << (in_key ? ", key " : ", query ") << x);
          Problem p(random);
          p.format = format;
          p.hd = 16;
          p.n = 40;
          p.rows = 2;
          p.softcap = 0.0f;
          p.slope.clear();
          p.q = random.floats(p.rows * p.hd);
          p.k = random.floats(p.n * p.hd);
          p.v = random.floats(p.n * p.hd);
          p.round(random);
          for (float& scale : p.k_scale) scale += 1e-3f;  // infinite times zero is another thing
          p.begin = {0, 0};
          p.end = {20, 40};
          float& key = format == KvFormat::kQ8 ? p.k_scale[25] : p.k[25 * p.hd];
          (in_key ? key : p.q[p.hd + 3]) = x;
          p.pack();
          State state(p);
          state.run(p, subject, 0);
          for (std::size_t d = 0; d < p.hd; ++d) {
            REQUIRE(std::isfinite(state.acc[d] / state.sum[0]));
            REQUIRE(!std::isfinite(state.acc[p.hd + d] / state.sum[1]));
          }
        }
      }
    }
  }
}

// One token in a block with nearly all of the weight, and a tail of equal weights that
// are less than half a step of it: to the nearest the tail would vanish.
TEST_CASE("few bits of weights keep the sum of a flat tail") {
  Random random(6);
  for (const Subject& subject : subjects()) {
    Problem p(random);
    p.format = KvFormat::kQ8;
    p.hd = 16;
    p.n = 64;
    p.rows = 8;
    p.softcap = 0.0f;
    p.slope.clear();
    p.begin.assign(p.rows, 0);
    p.end.assign(p.rows, 64);
    p.k.assign(p.n * p.hd, 0.0f);
    p.v.assign(p.n * p.hd, 0.0f);
    p.k_scale.assign(p.n, 1.0f / 127);
    p.v_scale.assign(p.n, 1.0f / 127);
    p.q.assign(p.rows * p.hd, 0.0f);
    for (std::size_t t = 0; t < p.n; ++t) {
      if (t % 16 == 3) p.k[t * p.hd] = 1.0f;
      for (std::size_t d = 0; d < p.hd && t % 16 != 3; ++d) p.v[t * p.hd + d] = 1.0f;
    }
    const float steps = subject.rounds(p.format, p.hd) == Rounds::kSignedQuads ? 127.0f : 255.0f;
    const auto tail = [](std::size_t r) { return 0.1f + 0.1f * static_cast<float>(r); };
    for (std::size_t r = 0; r < p.rows; ++r) p.q[r * p.hd] = std::log(steps / tail(r));
    p.pack();
    State state(p);
    state.run(p, subject, 64);
    for (std::size_t r = 0; r < p.rows; ++r) {
      INFO(subject.name << ", a tail of " << tail(r) << " steps");
      const Expected exact(p, r, Rounds::kNothing);
      const double step = 1.0 / static_cast<double>(steps + 15.0f * tail(r));
      CHECK(std::fabs(state.acc[r * p.hd] / state.sum[r] - exact.out[0]) <= 1.1 * step);
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
