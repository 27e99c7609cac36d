// Norms and rotations of every instruction set on rows that are hard (tests/simd/hard_rows.h),
// against double precision. u = 2^-24; what is allowed is added up from roundings.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "simd/kernels.h"
#include "tests/simd/every_float.h"
#include "tests/simd/hard_rows.h"
#include "tests/support/random.h"

namespace pc::simd {
namespace {

using test::Random;

constexpr double u = kRounding;

struct Expected {
  double value, allowed;
};

// The sum's n roundings and what is lost of it, halved by the root, and 7 more.
std::vector<Expected> rms_norm(const std::vector<float>& x, const std::vector<float>& w,
                               double eps) {
  const auto n = static_cast<double>(x.size());
  double sum = 0.0;
  for (const float v : x) sum += double{v} * v;
  const double scale = 1.0 / std::sqrt(sum / n + eps);
  std::vector<Expected> all;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double want = x[i] * scale * w[i];
    all.push_back({want, (n / 2 + 7) * u * std::fabs(want) + (1 + std::fabs(w[i])) * kLeastFloat});
  }
  return all;
}

// The mean is first off by (n + 1) u of the mean magnitude; differences from it are summed again,
// which finds that but for (n + 2) u of the mean difference. The variance is then right to
// (5 n + 20) u, as the squares of what the mean was off are at most half of it.
std::vector<Expected> layer_norm(const std::vector<float>& x, const std::vector<float>& w,
                                 const float* bias, double eps) {
  const auto n = static_cast<double>(x.size());
  double mean = 0.0, square = 0.0, difference = 0.0, magnitude = 0.0;
  for (const float v : x) mean += v / n, magnitude += std::fabs(v) / n;
  for (const float v : x) {
    const double d = v - mean;
    square += d * d / n;
    difference += std::fabs(d) / n;
  }
  const double scale = 1.0 / std::sqrt(square + eps), off = (n + 1) * u * magnitude;
  std::vector<Expected> all;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = x[i] - mean, scaled = d * scale * w[i],
                 want = scaled + (bias ? bias[i] : 0.0f);
    const double at_d = 2 * u * (std::fabs(d) + off) + (n + 2) * u * (difference + off);
    all.push_back({want, at_d * scale * std::fabs(w[i]) + (2.5 * n + 16) * u * std::fabs(scaled) +
                             u * std::fabs(want) + 3 * (1 + std::fabs(w[i])) * kLeastFloat});
  }
  return all;
}

void compare(Worst& worst, const std::vector<float>& x, const std::vector<Expected>& want,
             const std::vector<float>& got) {
  for (std::size_t i = 0; i < x.size(); ++i)
    worst.see(x[i], as_float(want[i].value), got[i], want[i].allowed);
}

TEST_CASE("norms of rows that are hard") {
  Random random(1);
  for (const Kernels* isa : supported_kernels()) {
    Worst rms{std::string("RMS norm by ") + isa->name},
        layer{std::string("layer norm by ") + isa->name};
    for (const std::size_t n : {1u, 7u, 64u, 768u, 2049u}) {
      auto rows = finite_rows(random, n);
      for (HardRow& row : broken_rows(random, n)) rows.push_back(std::move(row));
      for (const HardRow& row : rows) {
        for (const float eps : {1e-5f, 1e-6f, 0.0f}) {
          INFO(isa->name << ", " << n << " numbers, " << row.name << ", eps " << eps);
          const auto w = random.floats(n), bias = random.floats(n);
          std::vector<float> y(n);
          isa->rms_norm(row.x.data(), w.data(), n, eps, y.data());
          compare(rms, row.x, rms_norm(row.x, w, eps), y);
          for (const float* b : {bias.data(), static_cast<const float*>(nullptr)}) {
            isa->layer_norm(row.x.data(), w.data(), b, n, eps, y.data());
            // Of equal numbers without eps it is 0 / 0, or what rounding makes of it.
            const bool nothing = eps == 0.0f && (n == 1 || row.name.starts_with("all "));
            if (!nothing) compare(layer, row.x, layer_norm(row.x, w, b, eps), y);
            CHECK(layer.part <= 1.0);
          }
          CHECK(rms.part <= 1.0);
          if (rms.part > 1.0 || layer.part > 1.0) return;
        }
      }
    }
    rms.print();
    layer.print();
  }
}

// The scale times cosine and sine, two products, a sum.
TEST_CASE("rotations of rows that are hard") {
  Random random(2);
  for (const Kernels* isa : supported_kernels()) {
    Worst worst{std::string("rotation by ") + isa->name};
    for (const std::size_t half : {1u, 16u, 37u, 64u}) {
      auto rows = finite_rows(random, 2 * half);
      for (HardRow& row : broken_rows(random, 2 * half)) rows.push_back(std::move(row));
      for (const HardRow& row : rows) {
        for (const float scale : {1.0f, 0.0625f, 0.088388348f}) {
          std::vector<float> c(half), s(half), y(2 * half);
          for (std::size_t i = 0; i < half; ++i) {
            const double angle = 1000.0 * random.uniform();
            c[i] = static_cast<float>(std::cos(angle));
            s[i] = static_cast<float>(std::sin(angle));
          }
          isa->rotate(row.x.data(), c.data(), s.data(), half, scale, y.data());
          for (std::size_t i = 0; i < 2 * half; ++i) {
            const std::size_t j = i % half;
            const double a = row.x[j], b = row.x[j + half];
            const double one = (i < half ? a : b) * c[j] * scale,
                         other = (i < half ? -b : a) * s[j] * scale;
            const double most = 3.01 * u * (std::fabs(one) + std::fabs(other)) +
                                kLeastFloat * (2 + std::fabs(a) + std::fabs(b));
            worst.see(row.x[i], as_float(one + other), y[i], most);
          }
          INFO(isa->name << ", " << row.name << ", scale " << scale);
          REQUIRE(worst.part <= 1.0);
        }
      }
    }
    worst.print();
  }
}

}  // namespace
}  // namespace pc::simd
