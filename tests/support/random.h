// Seeded numbers for property tests: the same on every machine and library.
#pragma once

#include <cstdint>
#include <vector>

namespace pc::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}

  std::uint64_t next() {  // xorshift64*: Vigna 2016
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }
  // Uniform in [0, n); n > 0.
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>((next() >> 32) * n >> 32);
  }
  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + below(high - low + 1);
  }
  bool chance(double p) { return uniform() < p; }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  float symmetric() { return static_cast<float>(2.0 * uniform() - 1.0); }

  std::vector<float> floats(std::size_t n, float scale = 1.0f) {
    std::vector<float> v(n);
    for (float& x : v) x = symmetric() * scale;
    return v;
  }

 private:
  std::uint64_t state_;
};

}  // namespace pc::test
