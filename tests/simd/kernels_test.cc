// One suite over all instruction sets: every table this CPU runs against the
// scalar one, with tolerances computed from the inputs. Prints what ran.

#include "simd/kernels.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/random.h"

namespace pc::simd {
namespace {

using test::Random;

constexpr float kEps = std::numeric_limits<float>::epsilon();

// Calls `body(table)` for every table but the scalar one.
template <class Body>
void for_each_table(Body body) {
  for (const Kernels* table : supported_kernels()) {
    if (table == &kScalarKernels) continue;
    INFO("isa " << table->name);
    body(*table);
  }
}

// Stored weights of a type, made from random f32.
std::vector<std::uint8_t> stored(Random& random, Type type, std::size_t n) {
  std::vector<std::uint8_t> bytes(bytes_of(type, n));
  for (std::size_t i = 0; i < n; ++i) {
    const float x = random.symmetric();
    if (type == Type::kF32) {
      std::memcpy(bytes.data() + 4 * i, &x, 4);
    } else if (type == Type::kBf16) {
      const std::uint16_t h = bf16_from_f32(x);
      std::memcpy(bytes.data() + 2 * i, &h, 2);
    } else {  // any finite half: exponent below 31
      std::uint16_t h = static_cast<std::uint16_t>(random.next());
      if ((h >> 10 & 31) >= 16) h = static_cast<std::uint16_t>(h & ~(16u << 10));
      std::memcpy(bytes.data() + 2 * i, &h, 2);
    }
  }
  return bytes;
}

TEST_CASE("the tables that run here") {
  std::string names;
  for (const Kernels* table : supported_kernels()) names += std::string(" ") + table->name;
  std::printf("instruction sets run %s:%s\n",
              std::getenv("QEMU_CPU") ? "under qemu-user" : "natively", names.c_str());
  REQUIRE(supported_kernels().back() == &kScalarKernels);
}

TEST_CASE("PC_ISA selects a table by name and refuses an unknown one") {
  for (const Kernels* table : supported_kernels()) {
    ::setenv("PC_ISA", table->name, 1);
    REQUIRE(selected_kernels() == table);
  }
  ::setenv("PC_ISA", "no-such-isa", 1);
  REQUIRE(selected_kernels() == nullptr);
  ::unsetenv("PC_ISA");
  REQUIRE(selected_kernels() == supported_kernels().front());
}

TEST_CASE("matmul agrees with scalar") {
  Random random(1);
  for_each_table([&](const Kernels& isa) {
    for (const Type type : {Type::kF32, Type::kF16, Type::kBf16}) {
      for (int round = 0; round < 60; ++round) {
        const std::size_t m = random.between(1, 9), k = random.between(1, 140),
                          n = random.between(1, 13);
        const std::size_t xs = k + random.below(3), ys = n + random.below(3);
        const auto x = random.floats(m * xs);
        const auto w = stored(random, type, n * k);
        auto y = random.floats(m * ys), want = y;
        MatmulArgs args{x.data(),
                        w.data(),
                        y.data(),
                        xs,
                        ys,
                        m,
                        k,
                        random.below(static_cast<std::uint32_t>(n)),
                        n,
                        type,
                        random.chance(0.5)};
        isa.matmul(args);
        args.y = want.data();
        kScalarKernels.matmul(args);
        // |x| <= 1 and |w| <= 2: k products, each rounded once, summed in any order.
        const float tolerance = 2.0f * static_cast<float>(k * k + 2) * kEps;
        for (std::size_t i = 0; i < y.size(); ++i) REQUIRE(std::fabs(y[i] - want[i]) <= tolerance);
      }
    }
  });
}

// Small integers, whose sums are exact in any order; more of them than are parted at once; weights
// that lie anywhere in a cache line.
TEST_CASE("one row times long rows of bf16") {
  Random random(8);
  for_each_table([&](const Kernels& isa) {
    for (int round = 0; round < 36; ++round) {
      const std::size_t lengths[] = {0, 7, 32, 192, 16384, 16385, 16415, 32768, 40003};
      const std::size_t k = lengths[round % 9];
      std::vector<float> x(k), w(2 * k);
      for (auto* values : {&x, &w})
        for (float& v : *values) v = static_cast<float>(random.between(0, 4)) - 2.0f;
      const std::size_t first = random.below(32);  // of elements in front of the weights
      std::vector<std::uint16_t> stored(first);
      for (const float v : w) stored.push_back(bf16_from_f32(v));
      for (const bool accumulate : {false, true}) {
        float y[2] = {5.0f, 7.0f};
        float want[2] = {accumulate ? 5.0f : 0.0f, accumulate ? 7.0f : 0.0f};
        for (std::size_t i = 0; i < 2 * k; ++i) want[i / k] += x[i % k] * w[i];
        isa.matmul({x.data(), stored.data() + first, y, k, 2, 1, k, 0, 2, Type::kBf16, accumulate});
        INFO("k " << k << " first " << first);
        REQUIRE(y[0] == want[0]);
        REQUIRE(y[1] == want[1]);
      }
    }
  });
}

TEST_CASE("element-wise kernels agree with scalar") {
  Random random(3);
  for_each_table([&](const Kernels& isa) {
    for (int round = 0; round < 100; ++round) {
      const std::size_t n = random.between(1, 150);
      const auto x = random.floats(n, 4.0f), w = random.floats(n);
      std::vector<float> got(n), want(n);
      isa.rms_norm(x.data(), w.data(), n, 1e-5f, got.data());
      kScalarKernels.rms_norm(x.data(), w.data(), n, 1e-5f, want.data());
      for (std::size_t i = 0; i < n; ++i)
        REQUIRE(std::fabs(got[i] - want[i]) <=
                kEps * (static_cast<float>(n) + 8) * (std::fabs(want[i]) + 1e-6f));

      // The mean of n values of magnitude <= 4 is off by some of their roundings,
      // which the division by a deviation near 2.3 passes on; n = 1 divides by sqrt(eps).
      const float deviation = n == 1 ? 3e-3f : 0.1f;
      isa.layer_norm(x.data(), w.data(), nullptr, n, 1e-5f, got.data());
      kScalarKernels.layer_norm(x.data(), w.data(), nullptr, n, 1e-5f, want.data());
      for (std::size_t i = 0; i < n; ++i)
        REQUIRE(std::fabs(got[i] - want[i]) <=
                kEps * (static_cast<float>(n) + 16) * (4.0f / deviation + std::fabs(want[i])));
      isa.layer_norm(x.data(), w.data(), x.data(), n, 1e-5f, got.data());
      for (std::size_t i = 0; i < n; ++i)
        REQUIRE(std::fabs(got[i] - want[i] - x[i]) <=
                kEps * (static_cast<float>(n) + 16) * (8.0f / deviation + std::fabs(want[i])));

      auto a = x, b = x;
      for (const Activation kind :
           {Activation::kSilu, Activation::kGelu, Activation::kGeluTanh, Activation::kClampedSwiglu,
            Activation::kLogistic, Activation::kReluSquared}) {
        for (const float* up : {w.data(), static_cast<const float*>(nullptr)}) {
          a = x, b = x;
          isa.activate(kind, a.data(), up, n);
          kScalarKernels.activate(kind, b.data(), up, n);
          // erf is good to 1.5e-7 absolute, and 1 + erf to another rounding, times
          // |x| / 2: within the promised 3e-7 of |x|.
          for (std::size_t i = 0; i < n; ++i)
            REQUIRE(std::fabs(a[i] - b[i]) <=
                    16 * kEps * std::fabs(b[i]) + 3e-7f * std::fabs(x[i]));
        }
      }

      a = w, b = w;
      isa.add(x.data(), 1.0f, n, a.data());
      kScalarKernels.add(x.data(), 1.0f, n, b.data());
      REQUIRE(a == b);
      isa.add(x.data(), -0.37f, n, a.data());
      kScalarKernels.add(x.data(), -0.37f, n, b.data());
      for (std::size_t i = 0; i < n; ++i) REQUIRE(std::fabs(a[i] - b[i]) <= 8 * kEps);

      const std::size_t half = n / 2;
      std::vector<float> c(half), s(half), r1(2 * half), r2(2 * half);
      for (std::size_t i = 0; i < half; ++i) {
        const double angle = 6.0 * random.uniform();
        c[i] = static_cast<float>(std::cos(angle));
        s[i] = static_cast<float>(std::sin(angle));
      }
      isa.rotate(x.data(), c.data(), s.data(), half, 1.25f, r1.data());
      kScalarKernels.rotate(x.data(), c.data(), s.data(), half, 1.25f, r2.data());
      for (std::size_t i = 0; i < 2 * half; ++i)
        REQUIRE(std::fabs(r1[i] - r2[i]) <= 8.0f * 1.25f * 4 * kEps);
    }
  });
}

TEST_CASE("every bf16 and f16 widens exactly, and rounding to bf16 is to nearest even") {
  std::vector<std::uint16_t> all(65536);
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  std::vector<float> want(all.size()), got(all.size());
  Random random(4);
  std::vector<float> values(4099);
  for (float& x : values) {
    const auto bits = static_cast<std::uint32_t>(random.next());
    std::memcpy(&x, &bits, 4);
  }
  values.insert(values.end(),
                {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1.00390625f, 1.01171875f, 3.4e38f});
  for_each_table([&](const Kernels& isa) {
    for (const Type type : {Type::kF16, Type::kBf16}) {
      kScalarKernels.to_f32(all.data(), type, all.size(), want.data());
      isa.to_f32(all.data(), type, all.size(), got.data());
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (std::isnan(want[i]))
          REQUIRE(std::isnan(got[i]));
        else
          REQUIRE(std::memcmp(&want[i], &got[i], 4) == 0);
      }
    }
    std::vector<std::uint16_t> a(values.size()), b(values.size());
    kScalarKernels.to_bf16(values.data(), values.size(), a.data());
    isa.to_bf16(values.data(), values.size(), b.data());
    REQUIRE(a == b);
  });
  // Halfway cases go to the even neighbour.
  REQUIRE(bf16_from_f32(1.00390625f) == 0x3f80);  // 1 + 2^-8: half of an ulp above 1
  REQUIRE(bf16_from_f32(1.01171875f) == 0x3f82);  // 1 + 3 * 2^-8
}

}  // namespace
}  // namespace pc::simd
