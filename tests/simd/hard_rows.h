// Rows of numbers that trained models reach and uniform random ones do not: outliers, equal
// numbers, zeros, numbers whose squares leave the range of float, numbers that are none.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/random.h"

namespace pc::simd {

struct HardRow {
  std::string name;
  std::vector<float> x;
};

inline std::vector<HardRow> finite_rows(test::Random& random, std::size_t n) {
  const auto with = [&](std::string name, float scale, float outlier) {
    HardRow row{std::move(name), random.floats(n, scale)};
    if (outlier != 0.0f) row.x[random.below(static_cast<std::uint32_t>(n))] = outlier;
    return row;
  };
  const auto equal = [&](std::string name, float value) {
    return HardRow{std::move(name), std::vector<float>(n, value)};
  };
  std::vector<HardRow> rows = {with("ones", 1.0f, 0.0f),
                               with("1e4 beside ones", 1.0f, -1e4f),
                               with("1e8 beside ones", 1.0f, 1e8f),
                               with("1e20", 1e20f, 0.0f),
                               with("the largest", 3.4e38f, 3.4028234e38f),
                               with("the largest beside ones", 1.0f, -3.4028234e38f),
                               with("1e-12", 1e-12f, 0.0f),
                               with("1e-25", 1e-25f, 0.0f),
                               with("denormals", 1e-39f, 0.0f),
                               with("denormals beside one", 1e-39f, 1.0f),
                               equal("zeros", 0.0f),
                               equal("all 0.1", 0.1f),
                               equal("all 1e4", -10000.1f),
                               equal("all 1e30", 1e30f),
                               with("ones about 1e4", 1.0f, 0.0f)};
  for (float& x : rows.back().x) x += 1e4f;
  return rows;
}

// One number that is none, anywhere.
inline std::vector<HardRow> broken_rows(test::Random& random, std::size_t n) {
  std::vector<HardRow> rows;
  for (const float bad :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    rows.push_back({"with " + std::to_string(bad), random.floats(n)});
    rows.back().x[random.below(static_cast<std::uint32_t>(n))] = bad;
  }
  return rows;
}

}  // namespace pc::simd
