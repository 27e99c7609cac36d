// Element-wise kernels of every instruction set against double precision, over the
// whole range of float.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "simd/kernels.h"

namespace pc::simd {
namespace {

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::kSilu:
      return x / (1.0 + std::exp(-x));
    case Activation::kGelu:
      return x / 2 * std::erfc(-x / std::sqrt(2.0));
    case Activation::kGeluTanh:  // 1 + tanh(u) = 2 / (1 + exp(-2u))
      return x / (1.0 + std::exp(-2 * std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
  }
  return 0.0;
}

TEST_CASE("activations of large arguments are those of a half-line") {
  std::vector<float> x;
  for (float magnitude = 5.0f; magnitude < 3e38f; magnitude *= 1.0009f)
    x.insert(x.end(), {magnitude, -magnitude});
  for (const Kernels* isa : supported_kernels()) {
    for (const Activation kind : {Activation::kSilu, Activation::kGelu, Activation::kGeluTanh}) {
      INFO("isa " << isa->name << ", activation " << static_cast<int>(kind));
      auto y = x;
      isa->activate(kind, y.data(), nullptr, y.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        INFO("x = " << x[i]);
        const double want = activated(kind, x[i]);
        const double off = kind == Activation::kGelu ? 3e-7 * std::fabs(x[i]) : 0.0;
        REQUIRE(std::fabs(y[i] - want) <= 2e-5 * std::fabs(want) + off + 0x1p-148);
      }
    }
  }
}

}  // namespace
}  // namespace pc::simd
