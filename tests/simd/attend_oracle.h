// Attention by its definition: problems at random, a plain softmax in double and how far
// from it a kernel may be. All tolerances are computed from the inputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "simd/kernels.h"
#include "tests/modules/support.h"
#include "tests/support/random.h"

namespace pc::simd {

using test::Random;

inline constexpr double kEps = std::numeric_limits<float>::epsilon();
inline constexpr double kBf16Rounding = 0x1p-8;  // 8 bits of significand, to nearest
inline constexpr double kCoarseExp = 1e-4;       // of exp where its values are rounded to bf16 next

inline constexpr KvFormat kFormats[] = {KvFormat::kF32, KvFormat::kBf16, KvFormat::kQ8,
                                        KvFormat::kQ4};

// What a path rounds besides the states: nothing, queries and weights to bf16, or both to
// 8 bits, or weights to 7 of them.
enum class Rounds { kNothing, kPairs, kQuads, kSignedQuads };

// What is tested, and where it multiplies by dot products.
struct Subject {
  std::string name;
  void (*attend)(const AttendArgs& args);
  std::size_t pair_lanes, quad_lanes;  // 0: it never does
  Rounds quads = Rounds::kQuads;
  std::shared_ptr<void> while_used = nullptr;

  Rounds rounds(KvFormat format, std::size_t hd) const {
    const auto fits = [hd](std::size_t lanes) { return lanes != 0 && hd % lanes == 0; };
    const bool bf16 = format == KvFormat::kBf16 || format == KvFormat::kQ4;
    if (bf16 && fits(pair_lanes)) return Rounds::kPairs;
    if (format == KvFormat::kQ8 && fits(quad_lanes)) return quads;
    return Rounds::kNothing;
  }
};

inline float to_bf16_and_back(float x) {
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
  std::vector<std::uint32_t> hidden;    // empty, or [n in whole blocks]
  std::vector<float> sway, waves;       // empty, or q8's: [rows, hd], [hd, wave_stride()]
  std::vector<float> k_scale, v_scale;  // q8: [n][groups()], each a bf16; [n]
  // Of q4: the groups of a block are numbered as their pairs lie.
  struct Q4Plane {
    std::vector<float> step, least;  // of each group
    int code(std::size_t group, float x) const {
      const float level = step[group] > 0.0f ? (x - least[group]) / step[group] : 0.0f;
      return static_cast<int>(std::clamp(std::nearbyint(level), 0.0f, 15.0f));
    }
    float number(std::size_t group, float x) const {
      return static_cast<float>(code(group, x)) * step[group] + least[group];
    }
  };
  Q4Plane k_q4, v_q4;
  std::vector<std::uint8_t> keys, values;

  explicit Problem(Random& random)
      : format(KvFormat{random.between(1, 4)}),
        hd(format == KvFormat::kQ4   ? 16 * random.between(1, 8)
           : random.chance(0.5)      ? 16 * random.between(1, 5)
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
    if (random.chance(0.3)) {
      hidden.resize((n + 15) / 16 * 16);
      for (std::size_t t = 0; t < n; ++t) hidden[t] = random.chance(0.3) ? ~0u : 0u;
    }
    if (format == KvFormat::kQ8 && random.chance(0.5)) {
      sway = random.floats(rows * hd);
      waves = random.floats(hd * wave_stride());
    }
    pack();
  }

  // Takes another shape, with new numbers; every row sees every token, and nothing changes scores.
  void reshape(Random& random, KvFormat of, std::size_t head_dim, std::size_t n_tokens,
               std::size_t n_rows, float largest_query = 1.0f) {
    format = of;
    hd = head_dim;
    n = n_tokens;
    rows = n_rows;
    softcap = 0.0f;
    slope.clear();
    hidden.clear();
    sway.clear();
    q = random.floats(rows * hd, largest_query);
    k = random.floats(n * hd);
    v = random.floats(n * hd);
    round(random);
    begin.assign(rows, 0);
    end.assign(rows, static_cast<std::uint32_t>(n));
    pack();
  }

  // Makes k and v what their format can say.
  void round(Random& random) {
    k_scale.clear();
    v_scale.clear();
    if (format == KvFormat::kBf16)
      for (auto* plane : {&k, &v})
        for (float& x : *plane) x = to_bf16_and_back(x);
    if (format == KvFormat::kQ4) round_q4(random);
    if (format != KvFormat::kQ8) return;
    round_q8(random, k, 32, k_scale);
    round_q8(random, v, hd, v_scale);
  }

  bool sees(std::size_t r, std::size_t t) const {
    return begin[r] <= t && t < end[r] && (hidden.empty() || !hidden[t]);
  }
  bool sees_any(std::size_t r) const {
    for (std::size_t t = begin[r]; t < end[r]; ++t)
      if (sees(r, t)) return true;
    return false;
  }

  // A column for each block, and those that may be loaded behind.
  std::size_t wave_stride() const { return (n + 15) / 16 + 16; }

  // Groups of dimensions of a q8 key that share a scale.
  std::size_t groups() const { return (hd + 31) / 32; }

  // Codes of whole range under scales of different size, now and then zero.
  void round_q8(Random& random, std::vector<float>& plane, std::size_t group,
                std::vector<float>& scales) const {
    const float top = *std::max_element(plane.begin(), plane.end());
    scales.clear();
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t d = 0; d < hd; ++d) {
        if (d % group == 0)
          scales.push_back(to_bf16_and_back(
              random.chance(0.05) ? 0.0f : top / 127 / static_cast<float>(random.between(1, 9))));
        float& x = plane[t * hd + d];
        x = scales.back() * std::clamp(std::nearbyint(x * 127 / top), -127.0f, 127.0f);
      }
  }

  // Steps of powers of two, and least numbers of a few of them, so that numbers are bf16's as they
  // are; now and then no step. A number is put in the nearest place that its group has.
  void round_q4(Random& random) {
    for (Q4Plane* plane : {&k_q4, &v_q4}) {
      plane->step.assign((n + 15) / 16 * hd, 0.0f);
      plane->least = plane->step;
      for (std::size_t i = 0; i < plane->step.size(); ++i) {
        if (random.chance(0.95))
          plane->step[i] = std::ldexp(1.0f, -static_cast<int>(random.between(2, 4)));
        plane->least[i] = plane->step[i] * (static_cast<float>(random.between(0, 30)) - 22.0f);
      }
    }
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t d = 0; d < hd; ++d) {
        k[t * hd + d] = k_q4.number(q4_group(true, t, d), k[t * hd + d]);
        v[t * hd + d] = v_q4.number(q4_group(false, t, d), v[t * hd + d]);
      }
  }
  std::size_t q4_group(bool key, std::size_t t, std::size_t d) const {
    return key ? t / 16 * hd + d : t / 16 * hd + d / 16 * 16 + t % 16;
  }
  void pack_q4(KvHead g) {
    using test::Plane;
    for (const Plane plane : {Plane::kKeys, Plane::kValues})
      for (std::size_t t = 0; t < n; ++t)
        for (std::size_t d = 0; d < hd; ++d) {
          const bool key = plane == Plane::kKeys;
          const Q4Plane& q4 = key ? k_q4 : v_q4;
          const std::size_t group = q4_group(key, t, d);
          std::uint8_t* const bytes = key ? keys.data() : values.data();
          const int code = q4.code(group, (key ? k : v)[t * hd + d]);
          bytes[test::value_offset(g, plane, t, d)] |=
              static_cast<std::uint8_t>(code << test::q4_shift(plane, t, d));
          const std::uint16_t pair[2] = {bf16_from_f32(q4.step[group]),
                                         bf16_from_f32(q4.least[group])};
          std::memcpy(bytes + test::q4_pair_offset(g, plane, t, d), pair, 4);
        }
  }

  // What lies where: tests/modules/support.h.
  void pack() {
    const KvHead g{KvType{static_cast<std::uint32_t>(format)}, static_cast<std::uint32_t>(hd)};
    keys.assign((n + 15) / 16 * g.block_bytes(), 0);
    values = keys;
    if (format == KvFormat::kQ4) return pack_q4(g);
    using test::Plane;
    for (std::size_t t = 0; t < n; ++t) {
      for (std::size_t d = 0; d < test::n_elements(g, Plane::kKeys); ++d)
        put(keys.data() + test::value_offset(g, Plane::kKeys, t, d), k, key_scale(t, d), t, d, 128);
      for (std::size_t d = 0; d < test::n_elements(g, Plane::kValues); ++d)
        put(values.data() + test::value_offset(g, Plane::kValues, t, d), v,
            v_scale.empty() ? 0.0f : v_scale[t], t, d, 0);
    }
  }

  // Of dimension d, or of group d - hd.
  float key_scale(std::size_t t, std::size_t d) const {
    return k_scale.empty() ? 0.0f : k_scale[t * groups() + (d < hd ? d / 32 : d - hd)];
  }

  void put(std::uint8_t* to, const std::vector<float>& plane, float scale, std::size_t t,
           std::size_t d, int zero) const {
    if (d >= hd && zero != 0) {
      const std::uint16_t half = bf16_from_f32(scale);
      std::memcpy(to, &half, 2);
    } else if (d >= hd) {
      std::memcpy(to, &scale, 4);
    } else if (format == KvFormat::kF32) {
      std::memcpy(to, &plane[t * hd + d], 4);
    } else if (format == KvFormat::kBf16) {
      const std::uint16_t half = bf16_from_f32(plane[t * hd + d]);
      std::memcpy(to, &half, 2);
    } else {
      const float code = scale > 0.0f ? plane[t * hd + d] / scale : 0.0f;
      *to = static_cast<std::uint8_t>(static_cast<int>(std::nearbyint(code)) + zero);
    }
  }

  // A query as a path multiplies it.
  float query(std::size_t r, std::size_t d, Rounds rounds) const {
    const float* row = q.data() + r * hd;
    if (rounds == Rounds::kPairs) return to_bf16_and_back(row[d]);
    if (rounds == Rounds::kNothing) return row[d];
    float top = 0.0f;
    for (std::size_t i = d / 32 * 32; i < std::min(d / 32 * 32 + 32, hd); ++i)
      top = std::max(top, std::fabs(row[i]));
    return std::nearbyint(row[d] * (127.0f / top)) * (top / 127.0f);
  }

  double score(const std::vector<float>& row, std::size_t r, std::size_t t) const {
    double s = 0.0;
    for (std::size_t d = 0; d < hd; ++d) s += static_cast<double>(row[d]) * k[t * hd + d];
    for (std::size_t d = 0; !sway.empty() && d < hd; ++d)
      s += static_cast<double>(sway[r * hd + d]) * waves[d * wave_stride() + t / 16];
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
    AttendArgs args{p.q.data(),
                    p.keys.data(),
                    p.values.data(),
                    begin.data(),
                    end.data(),
                    max.data(),
                    sum.data(),
                    acc.data(),
                    p.rows,
                    p.hd,
                    p.format,
                    p.softcap,
                    p.slope.empty() ? nullptr : p.slope.data(),
                    p.origin.data(),
                    p.hidden.empty() ? nullptr : p.hidden.data()};
    if (!p.sway.empty()) {
      args.sway = p.sway.data();
      args.waves = p.waves.data();
      args.wave_stride = p.wave_stride();
    }
    subject.attend(args);
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
      if (p.sees(r, t)) top = std::max(top, weight[t]);
    }
    for (std::size_t t = p.begin[r]; t < p.end[r]; ++t) {
      weight[t] = p.sees(r, t) ? std::exp(weight[t] - top) : 0.0;
      total += weight[t];
    }
    for (std::size_t t = p.begin[r]; t < p.end[r]; ++t)
      for (std::size_t d = 0; d < p.hd; ++d) out[d] += weight[t] / total * p.v[t * p.hd + d];
    // A score's rounding (hd products of magnitude <= 2, and of <= 1 of a sway, a bias of at most
    // 0.5 * 5000) scales a weight by exp of it; |v| <= 1; the sums of n terms add n roundings.
    const double bias = p.slope.empty() ? 0.0 : 4.0 * 0.5 * static_cast<double>(p.n + 400);
    const double f32 = kEps * ((p.sway.empty() ? 8.0 : 12.0) * static_cast<double>(p.hd) + bias +
                               static_cast<double>(p.n) + 16.0);
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

  // Every number of row r is near enough; one that is not a number never is.
  bool allows(const State& state, const Problem& p, std::size_t r) const {
    for (std::size_t d = 0; d < p.hd; ++d) {
      const double got = state.acc[r * p.hd + d] / state.sum[r];
      if (!(std::fabs(got - out[d]) <= tolerance[d])) return false;
    }
    return true;
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

}  // namespace pc::simd
