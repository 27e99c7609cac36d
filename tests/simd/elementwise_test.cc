// Kernels whose elements depend on one number, of every instruction set, over the whole
// range of float (tests/simd/every_float.h), against double precision. What is allowed is what
// simd/kernels.h states.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "simd/kernels.h"
#include "tests/simd/every_float.h"

namespace pc::simd {
namespace {

// x times what a tail's exponential is taken of, and the factor.
struct Activated {
  double value, exponent;
};

Activated activated(Activation activation, double x) {
  switch (activation) {
    case Activation::kSilu:
      return {x / (1.0 + std::exp(-x)), 0.0};
    case Activation::kGelu:
      return {x / 2 * std::erfc(-x / std::sqrt(2.0)), x * x / 2};
    case Activation::kGeluTanh: {  // 1 + tanh(u) = 2 / (1 + exp(-2u))
      const double u = 2 * std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x);
      return {x / (1.0 + std::exp(-u)), 7 * std::fabs(u)};
    }
    case Activation::kClampedSwiglu: {
      const double cut = x > 7.0 ? 7.0 : x, u = static_cast<double>(kSwigluAlpha) * cut;
      return {cut / (1.0 + std::exp(-u)), 2 * std::fabs(u)};
    }
    case Activation::kLogistic:
      return {1.0 / (1.0 + std::exp(-x)), 0.0};
    case Activation::kReluSquared:
      return {as_float(x < 0 ? 0.0 : x * x), 0.0};
  }
  return {};
}

constexpr Activation kActivations[] = {Activation::kSilu,     Activation::kGelu,
                                       Activation::kGeluTanh, Activation::kClampedSwiglu,
                                       Activation::kLogistic, Activation::kReluSquared};

// What an activation is multiplied with. NaN stays NaN.
double factor_of(Activation activation, double up) {
  if (activation != Activation::kClampedSwiglu) return up;
  return (up > 7 ? 7 : up < -7 ? -7 : up) + 1;
}

double allowed(Activation activation, const Activated& want) {
  const double constant = activation == Activation::kGelu ? 22 : 8;
  // Where the exponential has ended, the value itself is less than the least float.
  const double relative = (constant + std::fmin(want.exponent, 1000.0)) * kRounding;
  return relative * std::fabs(want.value) + 2 * kLeastFloat;
}

TEST_CASE("activations of every float") {
  for (const Activation kind : kActivations) {
    std::vector<Worst> worst;
    for (const Kernels* isa : supported_kernels())
      worst.push_back(
          {"activation " + std::to_string(static_cast<int>(kind)) + " by " + isa->name});
    for_float_blocks([&](const std::vector<float>& x) {
      std::vector<Activated> want;
      for (const float v : x) want.push_back(activated(kind, v));
      for (std::size_t t = 0; t < worst.size(); ++t) {
        auto y = x;
        supported_kernels()[t]->activate(kind, y.data(), nullptr, y.size());
        for (std::size_t i = 0; i < x.size(); ++i)
          worst[t].see(x[i], want[i].value, y[i], allowed(kind, want[i]));
      }
    });
    for (const Worst& w : worst) {
      w.print();
      CHECK(w.part <= 1.0);
    }
  }
}

TEST_CASE("an activation's factor multiplies it, and shows where it is not finite") {
  const std::vector<float> factors = {0.0f, -1.0f, 3.0f, 1e-30f, 1e30f, kInf, -kInf, NAN};
  const std::vector<float> x = {0.0f,   0.7f,   -0.7f,   5.0f,  -5.0f, 90.0f,
                                -90.0f, 200.0f, -200.0f, 1e30f, -1e30f};
  for (const Kernels* isa : supported_kernels()) {
    for (const Activation kind : kActivations) {
      for (const float given : factors) {
        const double factor = factor_of(kind, given);
        Worst worst{isa->name};
        auto y = x;
        const std::vector<float> up(x.size(), given);
        isa->activate(kind, y.data(), up.data(), y.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
          INFO(isa->name << " " << static_cast<int>(kind) << " " << x[i] << " " << given);
          if (!std::isfinite(factor)) {
            CHECK(!std::isfinite(y[i]));
            continue;
          }
          const Activated want = activated(kind, x[i]);
          if (std::isinf(want.value)) continue;  // before it is multiplied
          const double most = allowed(kind, want) * std::fmax(std::fabs(factor), 1.0);
          worst.see(x[i], as_float(want.value * factor), y[i],
                    most + (kind == Activation::kClampedSwiglu ? 2 : 1) * kRounding *
                               std::fabs(want.value * factor));
        }
        CHECK(worst.part <= 1.0);
      }
    }
  }
}

// The nearest bf16, of two equally near ones the even one; by its definition.
std::uint16_t nearest_bf16(float x) {
  const std::uint32_t bits = bits_of(x);
  const auto toward_zero = static_cast<std::uint16_t>(bits >> 16);
  if ((bits & 0x7f800000u) == 0x7f800000u) return toward_zero;  // infinities; NaN is another's
  const auto away = static_cast<std::uint16_t>(toward_zero + 1);
  // One past the largest stands for 2^128.
  const auto value = [](std::uint16_t half) {
    return (half & 0x7fff) == 0x7f80 ? 0x1p128 : std::fabs(double{f32_from_bf16(half)});
  };
  const double down = std::fabs(double{x}) - value(toward_zero),
               up = value(away) - std::fabs(double{x});
  if (down != up) return down < up ? toward_zero : away;
  return toward_zero & 1 ? away : toward_zero;
}

TEST_CASE("every float rounds to the nearest bf16, and NaN to NaN") {
  const auto tables = supported_kernels();
  std::vector<std::uint64_t> wrong(tables.size());
  for_float_blocks([&](const std::vector<float>& x) {
    std::vector<std::uint16_t> want, got(x.size());
    for (const float v : x) want.push_back(nearest_bf16(v));
    for (std::size_t t = 0; t < tables.size(); ++t) {
      tables[t]->to_bf16(x.data(), x.size(), got.data());
      for (std::size_t i = 0; i < x.size(); ++i)
        wrong[t] += std::isnan(x[i]) ? !std::isnan(f32_from_bf16(got[i])) : got[i] != want[i];
    }
  });
  for (std::size_t t = 0; t < tables.size(); ++t) {
    INFO(tables[t]->name);
    CHECK(wrong[t] == 0);
  }
}

// Half precision by its definition: IEEE 754's binary16.
double value_of_f16(std::uint32_t half) {
  const int exponent = half >> 10 & 31, mantissa = half & 1023;
  const double sign = half >> 15 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa ? NAN : sign * HUGE_VAL;
  return sign *
         (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

TEST_CASE("every f16 and bf16 widens exactly, every f32 to itself") {
  std::vector<std::uint16_t> all(65536);
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  std::vector<float> got(all.size());
  for (const Kernels* isa : supported_kernels()) {
    INFO(isa->name);
    std::size_t wrong = 0;
    isa->to_f32(all.data(), Type::kF16, all.size(), got.data());
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      const double want = value_of_f16(i);
      wrong += std::isnan(want) ? !std::isnan(got[i])
                                : got[i] != want || std::signbit(got[i]) != std::signbit(want);
    }
    isa->to_f32(all.data(), Type::kBf16, all.size(), got.data());
    for (std::uint32_t i = 0; i < all.size(); ++i) wrong += bits_of(got[i]) != i << 16;
    CHECK(wrong == 0);
    for_float_blocks([&](const std::vector<float>& x) {
      std::vector<float> y(x.size());
      isa->to_f32(x.data(), Type::kF32, x.size(), y.data());
      wrong += std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) != 0;
    });
    CHECK(wrong == 0);
  }
}

// y += scale * x for every x, and a y of each kind beside it.
TEST_CASE("scaled addition of every float") {
  for (const float scale : {1.0f, 0.2f, -22.627417f}) {
    std::vector<Worst> worst;
    for (const Kernels* isa : supported_kernels())
      worst.push_back({std::string("addition by ") + isa->name});
    const std::vector<float> others = {0.0f, 1.0f, -0.37f, 1e-40f, -1e20f, 3e38f};
    for_float_blocks([&](const std::vector<float>& x) {
      for (std::size_t t = 0; t < worst.size(); ++t) {
        std::vector<float> y(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) y[i] = others[i % others.size()];
        supported_kernels()[t]->add(x.data(), scale, x.size(), y.data());
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double product = double{scale} * x[i], before = double{others[i % others.size()]};
          if (std::fabs(product) > 3.4028234e38) {  // rounded before it is added
            if (std::isfinite(product)) continue;
          }
          const double most =
              1.001 * kRounding * (std::fabs(product) + std::fabs(before + product));
          worst[t].see(x[i], as_float(before + product), y[i], most + kLeastFloat);
        }
      }
    });
    for (const Worst& w : worst) {
      w.print();
      CHECK(w.part <= 1.0);
    }
  }
}

}  // namespace
}  // namespace pc::simd
