// What attention does to one score, of every instruction set and type of states, over the whole
// range of float: the exponential, the factor of what was summed before, the cap.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "simd/kernels.h"
#include "tests/simd/attend_oracle.h"
#include "tests/simd/attend_stand_in.h"
#include "tests/simd/every_float.h"

namespace pc::simd {
namespace {

struct Attends {
  std::string name;
  void (*attend)(const AttendArgs& args);
};

std::vector<Attends> all_that_attend() {
  std::vector<Attends> all;
  for (const Kernels* table : supported_kernels()) all.push_back({table->name, table->attend});
  for (const AttendStandIn& s : attend_stand_ins()) {
    all.push_back({std::string("pairs and quads by ") + s.name, s.attend});
    all.push_back({std::string("signed quads by ") + s.name, s.attend_signed});
    all.push_back({std::string("tiles by ") + s.name, s.attend_tiles});
  }
  return all;
}

// Rows against one token, each with a score of its own.
struct OneToken {
  static constexpr std::size_t kRows = 4096, kHeadDim = 32;
  std::vector<float> q = std::vector<float>(kRows * kHeadDim), max, sum, acc;
  std::vector<std::uint32_t> begin = std::vector<std::uint32_t>(kRows, 0),
                             end = std::vector<std::uint32_t>(kRows, 1);
  alignas(64) float keys[16 * kHeadDim + 16] = {}, values[16 * kHeadDim + 16] = {};

  // The running state begins as given.
  void run(const Attends& by, KvFormat format, float max0, float sum0, float acc0, float softcap,
           const std::vector<float>& slope) {
    max.assign(kRows, max0);
    sum.assign(kRows, sum0);
    acc.assign(kRows * kHeadDim, acc0);
    const std::vector<float> origin(kRows, 1.0f);
    by.attend({q.data(), keys, values, begin.data(), end.data(), max.data(), sum.data(), acc.data(),
               kRows, kHeadDim, format, softcap, slope.empty() ? nullptr : slope.data(),
               origin.data()});
  }
};

// A score s beside an old maximum of 0: exp(s) is summed where s is not positive, and what was
// summed before is multiplied by exp(-s) where it is. How far exp(-|s|) may be off:
double allowed_exp(KvFormat format, double want) {
  // The weights' own: f32's by table, and the coarser ones, one of which is rounded to bf16.
  const double relative = format == KvFormat::kF32
                              ? 3 * kRounding
                              : kCoarseExp + (format == KvFormat::kBf16 ? 0x1p-8 : 0.0);
  return relative * want + std::exp(-87.0);
}

TEST_CASE("the exponential of every score") {
  OneToken tokens;
  std::size_t wrong = 0;
  const auto all = all_that_attend();
  for_float_blocks(
      [&](const std::vector<float>& x) {
        for (const Attends& by : all) {
          for (const KvFormat format : {KvFormat::kF32, KvFormat::kBf16, KvFormat::kQ8}) {
            tokens.run(by, format, 0.0f, 0.0f, 1.0f, 0.0f, x);  // q is zero: the slope is the score
            for (std::size_t i = 0; i < x.size(); ++i) {
              const double s = x[i], got_sum = tokens.sum[i],
                           factor = tokens.acc[i * OneToken::kHeadDim + i % OneToken::kHeadDim];
              bool right = !std::isfinite(got_sum);
              if (std::isfinite(x[i])) {
                const double weight = std::exp(std::fmin(s, 0.0)),
                             shrunk = std::exp(-std::fmax(s, 0.0));
                right = tokens.max[i] == std::fmax(x[i], 0.0f) &&
                        std::fabs(got_sum - weight) <= allowed_exp(format, weight) &&
                        std::fabs(factor - shrunk) <= allowed_exp(KvFormat::kF32, shrunk);
              }
              if (!right && wrong++ < 10) {
                UNSCOPED_INFO(by.name << ", format " << static_cast<int>(format) << ", score " << s
                                      << ": max " << tokens.max[i] << ", sum " << got_sum
                                      << ", factor " << factor);
              }
            }
          }
        }
      },
      65537, 4099);
  CHECK(wrong == 0);
}

// The cap is divided by and multiplied with, and the hyperbolic tangent is Highway's, within 4 ulp
// of its exp(x) - 1, of which (e + add + divide) it takes 10 roundings.
TEST_CASE("the cap of every score") {
  OneToken tokens;
  tokens.keys[0] = 1.0f;  // dimension 0 of token 0
  for (const float cap : {30.0f, 50.0f, 1.5f}) {
    std::vector<Worst> worst;
    for (const Kernels* isa : supported_kernels())
      worst.push_back({std::string("cap by ") + isa->name});
    for_float_blocks(
        [&](const std::vector<float>& x) {
          for (std::size_t i = 0; i < x.size(); ++i) tokens.q[i * OneToken::kHeadDim] = x[i];
          for (std::size_t t = 0; t < worst.size(); ++t) {
            tokens.run({"", supported_kernels()[t]->attend}, KvFormat::kF32, -kInf, 0.0f, 0.0f, cap,
                       {});
            for (std::size_t i = 0; i < x.size(); ++i) {
              if (!std::isfinite(x[i])) {
                worst[t].see(x[i], 0.0, std::isfinite(tokens.sum[i]) ? HUGE_VAL : 0.0, 1.0);
                continue;
              }
              const double want = cap * std::tanh(static_cast<double>(x[i]) / cap);
              worst[t].see(x[i], want, tokens.max[i],
                           14 * kRounding * std::fabs(want) + (cap + 2) * kLeastFloat);
              worst[t].see(x[i], 1.0, tokens.sum[i], kRounding);
            }
          }
        },
        4099, 1009);
    for (const Worst& w : worst) {
      w.print();
      CHECK(w.part <= 1.0);
    }
  }
}

// No row of scores that a kernel sees may look as if nothing were seen.
TEST_CASE("a row whose scores are all infinite shows") {
  OneToken tokens;
  tokens.keys[0] = 1.0f;
  for (const Attends& by : all_that_attend()) {
    for (const float score : {kInf, -kInf}) {
      for (const float cap : {0.0f, 50.0f}) {
        for (std::size_t r = 0; r < OneToken::kRows; ++r)
          tokens.q[r * OneToken::kHeadDim] = r == 7 ? score : -5.0f;
        tokens.run(by, KvFormat::kF32, -kInf, 0.0f, 0.0f, cap, {});
        for (std::size_t r = 0; r < OneToken::kRows; ++r)
          REQUIRE(std::isfinite(tokens.sum[r]) == (r != 7));
      }
    }
  }
}

}  // namespace
}  // namespace pc::simd
