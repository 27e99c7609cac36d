// Attention over packed keys and values: every table this CPU runs, and the bf16 and
// q8 paths with their dot products spelled out or on AMX's tiles by a stand-in, against
// a plain softmax in double (tests/simd/attend_oracle.h).

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "simd/kernels.h"
#include "simd/packed_kernels.h"
#include "tests/simd/attend_oracle.h"
#include "tests/simd/attend_stand_in.h"
#include "tests/simd/hard_rows.h"
#include "tests/support/random.h"
#if defined(__x86_64__) && defined(__linux__)
#include "tests/simd/amx_trap.h"
#define PC_TRAPS_AMX
#endif

namespace pc::simd {
namespace {

bool has_vnni() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

#if defined(__x86_64__)
Subject amx_subject(std::string name, void (*attend)(const AttendArgs& args)) {
  return {std::move(name), attend, 32, 16};
}
#endif

// A table by its name: where two attend alike, by the one that says how.
Subject subject_of(const Kernels& table) {
  const std::string name = table.name;
  const auto is = [&](const char* other) {
    for (const Kernels* t : supported_kernels())
      if (std::strcmp(t->name, other) == 0 && t->attend == table.attend) return true;
    return name == other;
  };
#if defined(__x86_64__)
  if (table.attend == attend_amx) return amx_subject(name, table.attend);
#endif
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
#ifdef PC_TRAPS_AMX
  if (std::strcmp(supported_kernels().front()->name, "amx") != 0 && has_vnni() &&
      __builtin_cpu_supports("avx512bf16")) {
    all.push_back(amx_subject("amx as compiled, its instructions by a stand-in", attend_amx));
    all.back().while_used = std::make_shared<stand_in::Trap>();
  }
#endif
  for (const AttendStandIn& s : attend_stand_ins()) {
    const std::string name = s.name;
    all.push_back({"dot products by " + name, s.attend, s.lanes, s.lanes});
    all.push_back(
        {"signed dot products by " + name, s.attend_signed, 0, s.lanes, Rounds::kSignedQuads});
    all.push_back(
        {"tiles of a stand-in by " + name, s.attend_tiles, s.lanes == 0 ? std::size_t{0} : 32, 0});
    all.push_back({"widened by " + name, s.attend_widened, 0, 0});
  }
  return all;
}

TEST_CASE("attend agrees with a plain softmax") {
  Random random(2);
  std::string names;
  const std::vector<Subject> all = subjects();
  for (const Subject& subject : all) names += "\n  " + subject.name;
  std::printf("attention run:%s\n", names.c_str());
  for (int round = 0; round < 180; ++round) {
    const Problem p(random);
    const std::uint32_t cut = random.below(static_cast<std::uint32_t>(p.n + 1));
    for (const Rounds rounds :
         {Rounds::kNothing, Rounds::kPairs, Rounds::kQuads, Rounds::kSignedQuads}) {
      std::vector<Subject> alike = all;
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
          if (!p.sees_any(r)) {
            REQUIRE(state.sum[r] == 0.0f);
            continue;
          }
          REQUIRE(expected[r].allows(state, p, r));
        }
      }
    }
  }
}

// A head as long as the kernels' scratch allows.
TEST_CASE("attend takes the longest head") {
  Random random(5);
  for (const Subject& subject : subjects()) {
    for (const KvFormat format : kFormats) {
      INFO(subject.name << ", format " << static_cast<int>(format));
      Problem p(random);
      p.reshape(random, format, kMaxAttendHeadDim, 40, 17, 0.1f);
      State state(p);
      state.run(p, subject, 16);
      for (std::size_t r = 0; r < p.rows; ++r) {
        REQUIRE(Expected(p, r, subject.rounds(format, p.hd)).allows(state, p, r));
      }
    }
  }
}

// Shapes around those that the kernels take at a time: tiles of rows, pairs of blocks,
// chunks and passes; the last rows see less, as a prompt's do.
TEST_CASE("attend takes rows and tokens that end anywhere") {
  Random random(9);
  struct Shape {
    std::size_t rows, hd, n;
  };
  const std::vector<Shape> shapes = {
      {1, 32, 257},  {1, 128, 300}, {2, 96, 17},   {8, 128, 33},  {15, 32, 16},  {16, 64, 32},
      {16, 128, 49}, {17, 96, 300}, {31, 32, 255}, {32, 64, 257}, {32, 128, 64}, {33, 32, 2200},
      {33, 64, 16},  {48, 32, 33},  {49, 96, 49},  {64, 64, 80},  {65, 128, 50}, {65, 32, 300}};
  for (const Subject& subject : subjects()) {
    for (const auto& [rows, hd, n] : shapes) {
      for (const KvFormat format : {KvFormat::kBf16, KvFormat::kQ8, KvFormat::kQ4}) {
        INFO(subject.name << ", format " << static_cast<int>(format) << ", rows " << rows
                          << ", head_dim " << hd << ", tokens " << n);
        Problem p(random);
        p.reshape(random, format, hd, n, rows);
        for (std::size_t r = 0; r < rows; ++r)
          p.end[r] -= static_cast<std::uint32_t>(std::min(n - 1, rows - 1 - r));
        State state(p);
        state.run(p, subject, static_cast<std::uint32_t>(n));
        for (std::size_t r = 0; r < p.rows; ++r)
          REQUIRE(Expected(p, r, subject.rounds(format, hd)).allows(state, p, r));
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
    for (const KvFormat format : kFormats) {
      for (const float x : bad) {
        for (const bool in_key : {true, false}) {
          INFO(subject.name << ", format " << static_cast<int>(format)
                            << (in_key ? ", key " : ", query ") << x);
          Problem p(random);
          p.reshape(random, format, 32, 40, 33);
          for (float& scale : p.k_scale) scale += 1e-3f;  // infinite times zero is another thing
          p.end.assign(p.rows, 16);
          p.end[20] = 40;  // the one that sees it
          float& key = format == KvFormat::kQ8 ? p.k_scale[25] : p.k[25 * p.hd];
          if (in_key && format == KvFormat::kQ4)
            p.k_q4.step[p.hd + 9] = std::nanf("");  // of the block that token 25 is in
          else
            (in_key ? key : p.q[20 * p.hd + 3]) = x;
          p.pack();
          State state(p);
          state.run(p, subject, 0);
          for (std::size_t i = 0; i < p.rows * p.hd; ++i)
            REQUIRE(std::isfinite(state.acc[i] / state.sum[i / p.hd]) == (i / p.hd != 20));
        }
      }
    }
  }
}

// What a weighted mean may miss, in parts of the largest value: roundings of n weights and their
// sum, and of quads, whose weights are cut to steps of the largest in each block of 16, a step of
// each.
double mean_tolerance(const Problem& p, Rounds rounds) {
  const double steps = rounds == Rounds::kQuads ? 255 : 127;
  const bool cut = rounds == Rounds::kQuads || rounds == Rounds::kSignedQuads;
  return kEps * static_cast<double>(p.n + 16) + (cut ? 16 / steps * (1 + 2 * kCoarseExp) : 0.0);
}

TEST_CASE("whatever the scores, attention is a weighted mean of the values") {
  Random random(11);
  for (const Subject& subject : subjects()) {
    for (const KvFormat format : kFormats) {
      Problem p(random);
      const auto rows = finite_rows(random, 32);
      p.reshape(random, format, 32, 40, rows.size());
      for (std::size_t r = 0; r < rows.size(); ++r)
        std::copy(rows[r].x.begin(), rows[r].x.end(),
                  p.q.begin() + static_cast<std::ptrdiff_t>(32 * r));
      State state(p);
      state.run(p, subject, 24);
      for (std::size_t r = 0; r < p.rows; ++r) {
        double largest = 0.0;  // of what a score is summed from, bf16's rounding included
        for (std::size_t d = 0; d < p.hd; ++d) largest += std::fabs(double{rows[r].x[d]}) * 1.01;
        for (std::size_t d = 0; d < p.hd; ++d) {
          double low = 2.0, high = -2.0;
          for (std::size_t t = 0; t < p.n; ++t) {
            low = std::min(low, double{p.v[t * p.hd + d]});
            high = std::max(high, double{p.v[t * p.hd + d]});
          }
          const double got = state.acc[r * p.hd + d] / state.sum[r];
          const double off = mean_tolerance(p, subject.rounds(format, p.hd));
          INFO(subject.name << ", format " << static_cast<int>(format) << ", " << rows[r].name);
          const bool overflows = largest > std::numeric_limits<float>::max();
          if (!std::isfinite(got) && overflows) continue;
          if (!(got >= low - off && got <= high + off))
            FAIL(got << " of " << low << " to " << high);
        }
      }
    }
  }
}

// Equal weights: the mean of values that are hard.
TEST_CASE("attention's mean of values that are hard") {
  Random random(12);
  for (const Subject& subject : subjects()) {
    for (const KvFormat format : kFormats) {
      Problem p(random);
      p.reshape(random, format, 32, 40, 5);
      for (const HardRow& row : finite_rows(random, p.n * p.hd)) {
        const float most = *std::max_element(row.x.begin(), row.x.end());
        // Rounded to bf16 or summed, the largest floats are none; q8 here wants a largest value.
        const float least_value = *std::min_element(row.x.begin(), row.x.end());
        if (std::max(most, -least_value) > 1e35f) continue;
        if (format == KvFormat::kQ8 && most <= 0.0f) continue;
        std::fill(p.q.begin(), p.q.end(), 0.0f);
        p.v = row.x;
        p.round(random);
        p.pack();
        State state(p);
        state.run(p, subject, 24);
        double largest = 0.0;
        for (const float v : p.v) largest = std::max(largest, std::fabs(double{v}));
        const Rounds rounds = subject.rounds(format, p.hd);
        // Below kLeastScale 8 bits are zeros; pairs of bf16 are multiplied without denormals.
        const double least = static_cast<double>(p.n) * (127.0 * kLeastScale + 0x1p-126);
        for (std::size_t d = 0; d < p.hd; ++d) {
          double mean = 0.0;
          for (std::size_t t = 0; t < p.n; ++t)
            mean += double{p.v[t * p.hd + d]} / static_cast<double>(p.n);
          const double got = state.acc[2 * p.hd + d] / state.sum[2];
          INFO(subject.name << ", format " << static_cast<int>(format) << ", " << row.name);
          const double off = mean_tolerance(p, rounds) * largest + least;
          if (!(std::fabs(got - mean) <= off)) FAIL(got << " for " << mean << ", off " << off);
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
    p.hidden.clear();
    p.begin.assign(p.rows, 0);
    p.end.assign(p.rows, 64);
    p.k.assign(p.n * p.hd, 0.0f);
    p.v.assign(p.n * p.hd, 0.0f);
    p.k_scale.assign(p.n, 0x1p-6f);
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

}  // namespace
}  // namespace pc::simd
