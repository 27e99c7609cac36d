// The exponential of attention's softmax, by every instruction set that this CPU runs.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "simd/kernels.h"
#include "tests/simd/attend_stand_in.h"
#include "tests/simd/every_float.h"

namespace pc::simd {
namespace {

// The largest |exp(x) - its value| in units that `unit` gives for the value, for x in [-87, 0];
// below that it is 0, and NaN of NaN.
template <class Unit>
double worst_exp(void (*exp)(const float*, std::size_t, float*), Unit unit) {
  double worst = 0.0;
  std::vector<float> y(4096);
  for_float_blocks([&](std::vector<float> x) {
    for (float& v : x) v = v > 0.0f ? -v : v;
    exp(x.data(), x.size(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i]) || x[i] < -87.0f) {
        if (std::isnan(x[i]) != std::isnan(y[i]) || y[i] > 0.0f) worst = HUGE_VAL;
        continue;
      }
      const double want = std::exp(static_cast<double>(x[i]));
      const double off = std::fabs(y[i] - want) / unit(want);
      if (!(off <= worst)) worst = std::isnan(off) ? HUGE_VAL : off;
    }
  });
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
    REQUIRE(coarse <= 1e-4);
    for (const auto exp : {s.exp_negative, s.exp_coarse}) {
      float y[16];
      const float far[16] = {-HUGE_VALF, -88.0f, -1e30f, 0.0f};
      exp(far, 16, y);
      for (int i = 0; i < 3; ++i) REQUIRE(y[i] == 0.0f);
      REQUIRE(f32_from_bf16(bf16_from_f32(y[3])) == 1.0f);
    }
    const float zero[16] = {};
    float one[16];
    s.exp_negative(zero, 16, one);
    REQUIRE(one[0] == 1.0f);
  }
}

}  // namespace
}  // namespace pc::simd
