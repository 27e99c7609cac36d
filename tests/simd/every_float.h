// Inputs over the whole range of float, in blocks: every kInputStride-th of all 2^32 bit
// patterns, or each of them where the environment variable PC_EVERY_FLOAT is set, and
// always those at which kernels change their ways.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "simd/kernels.h"

namespace pc::simd {

// Primes, so that no pattern of low bits is left out.
inline constexpr std::uint64_t kInputStride = 1009;
#ifdef PC_EMULATED
inline constexpr std::uint64_t kFewer = 61;  // an instruction takes tens of them
#else
inline constexpr std::uint64_t kFewer = 1;
#endif

inline constexpr double kRounding = 0x1p-24;     // half an ulp, relative, of normal numbers
inline constexpr double kLeastFloat = 0x1p-149;  // the least denormal
inline constexpr float kInf = std::numeric_limits<float>::infinity();

inline float float_of_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Zeros, denormals, ends of ranges, NaN of several bits; both signs.
inline std::vector<float> special_floats() {
  std::vector<float> all;
  for (const std::uint32_t sign : {0u, 0x80000000u})
    for (const std::uint32_t bits :
         {0u, 1u, 2u, 0x007fffffu, 0x00800000u, 0x00800001u, 0x3f7fffffu, 0x3f800000u, 0x3f800001u,
          0x7f7fffffu, 0x7f800000u, 0x7f800001u, 0x7fbfffffu, 0x7fc00000u, 0x7fffffffu})
      all.push_back(float_of_bits(sign | bits));
  for (const float near :
       {87.0f, 87.33654f, 88.0f, 88.72284f, 103.97208f, 110.0f, 13.0f, 14.83f, 178.0f, 180.0f})
    for (const float x : {near, -near}) {
      all.push_back(x);
      all.push_back(std::nextafter(x, 0.0f));
      all.push_back(std::nextafter(x, 2 * x));
    }
  return all;
}

// Calls use(inputs) for blocks of them, 4096 each. Strides: other primes, for what takes longer.
template <class Use>
void for_float_blocks(Use use, std::uint64_t usual = kInputStride, std::uint64_t on_demand = 1) {
  const std::uint64_t stride = std::getenv("PC_EVERY_FLOAT") ? on_demand : usual * kFewer;
  std::vector<float> block = special_floats();
  block.reserve(4096);
  std::uint64_t bits = 0;
  while (bits < std::uint64_t{1} << 32) {
    for (; block.size() < 4096; bits += stride) {
      const auto of = static_cast<std::uint32_t>(bits % (std::uint64_t{1} << 32));
      block.push_back(float_of_bits(of));
    }
    use(block);
    block.clear();
  }
}

// The largest error of one kernel of one table, in parts of what is allowed, and where.
struct Worst {
  std::string name;
  double part = 0.0;
  float at = 0.0f;

  // An infinity must be the same infinity, and NaN be NaN: else the part is infinite.
  void see(float x, double want, double got, double allowed) {
    double off = std::fabs(got - want) / allowed;
    if (std::isnan(want)) off = std::isnan(got) ? 0.0 : HUGE_VAL;
    if (std::isinf(want)) off = got == want ? 0.0 : HUGE_VAL;
    if (std::isnan(off)) off = HUGE_VAL;
    if (off > part) part = off, at = x;
  }
  void print() const {
    std::printf("%s: %.2f of what is allowed, at %.9g\n", name.c_str(), part,
                static_cast<double>(at));
  }
};

// What `value` becomes as a float, infinities included: rounding is not an error there.
inline double as_float(double value) {
  return std::fabs(value) >= 0x1.ffffffp127
             ? static_cast<double>(std::copysign(kInf, static_cast<float>(value > 0 ? 1 : -1)))
             : value;
}

}  // namespace pc::simd
