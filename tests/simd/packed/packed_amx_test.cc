// Products of many rows on tiles of bf16: natively where the CPU has AMX; elsewhere
// the same bytes with each of AMX's instructions trapped and done by a stand-in, and
// the same source over the stand-in with SIMDe's vectors. Prints which ran.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "simd/kernels.h"
#include "simd/packed/amx_rows.h"
#include "simd/packed/packed.h"
#include "simd/packed_kernels.h"
#include "tests/simd/amx_stand_in.h"
#include "tests/simd/every_float.h"
#include "tests/simd/hard_rows.h"
#include "tests/support/quant_blocks.h"
#include "tests/support/random.h"
#if defined(__x86_64__) && defined(__linux__)
#include "tests/simd/amx_trap.h"
#define PC_TRAPS_AMX
#endif

namespace pc::simd {

extern const AmxKernels kAmxStandIn;  // amx_stand_in.cc

namespace {

using test::kQuantisedTypes;
using test::Random;

constexpr double kEps = 0x1p-24, kHalfStep = 0x1p-8;  // of f32 and of bf16, rounding once

struct Variant {
  std::string name;
  const AmxKernels* kernels;
  std::shared_ptr<void> while_used;
};

std::vector<Variant> variants() {
  std::vector<Variant> all;
  const Kernels& best = *supported_kernels().front();
  if (best.amx) all.push_back({"natively", best.amx, nullptr});
#ifdef PC_TRAPS_AMX
  if (!best.amx && __builtin_cpu_supports("avx512bw"))
    all.push_back({"compiled code, AMX's instructions by a stand-in", &kAmxKernels,
                   std::make_shared<stand_in::Trap>()});
#endif
#ifdef PC_HAVE_SIMDE
  all.push_back({"source over a stand-in and SIMDe", &kAmxStandIn, nullptr});
#endif
  return all;
}

float bf16(float x) {
  return f32_from_bf16(bf16_from_f32(x));
}

// Weights as the product takes them, and what they mean.
struct Weights {
  Type type;
  std::size_t n, k;
  std::vector<std::byte> bytes;

  Weights(Random& random, Type t, std::size_t rows, std::size_t cols) : type(t), n(rows), k(cols) {
    if (t == Type::kBf16) {
      bytes.resize(2 * n * k);
      for (std::size_t i = 0; i < n * k; ++i) {
        const std::uint16_t half = bf16_from_f32(random.symmetric());
        std::memcpy(bytes.data() + 2 * i, &half, 2);
      }
      return;
    }
    const auto blocks = test::random_blocks(random, t, n * k, 0.1f);
    bytes.resize(packed_bytes(t, n, k));
    for (std::size_t p = 0; p < (n + 15) / 16; ++p)
      pack_panel(t, blocks.data(), n, k, p, bytes.data());
  }

  double at(std::size_t row, std::size_t col) const {
    if (type != Type::kBf16) return packed_element(type, bytes.data(), k, row, col);
    std::uint16_t half;
    std::memcpy(&half, bytes.data() + 2 * (row * k + col), 2);
    return f32_from_bf16(half);
  }
};

std::vector<Type> types() {
  std::vector<Type> all{Type::kBf16};
  all.insert(all.end(), std::begin(kQuantisedTypes), std::end(kQuantisedTypes));
  return all;
}

constexpr AmxWay kWays[] = {AmxWay::kCodes, AmxWay::kFew, AmxWay::kMany};

std::vector<Type> types(AmxWay way) {
  std::vector<Type> all = types();
  if (way == AmxWay::kCodes)
    std::erase_if(all, [](Type type) { return amx_most_by_codes(type) == 0; });
  return all;
}

std::string name_of(const Variant& variant, AmxWay way, Type type) {
  const char* const names[] = {"", ", codes, ", ", few, ", ", many, "};
  return variant.name + names[static_cast<int>(way)] + shape_of(type).name;
}

auto product_of(const AmxKernels& kernels, AmxWay way) {
  return way == AmxWay::kCodes ? kernels.matmul_codes
         : way == AmxWay::kFew ? kernels.matmul_few
                               : kernels.matmul_many;
}

bool has_minima(Type type) {
  return type != Type::kBf16 && packed_shape_of(type).minima;
}

// By how much of its own a weight may be off.
double step_of(AmxWay way, Type type) {
  return way == AmxWay::kCodes || type == Type::kBf16 ? 0.0 : kHalfStep;
}

// What no row wrote is NaN.
std::vector<std::uint16_t> tiled(const Variant& variant, const float* x, std::size_t m,
                                 std::size_t k, bool sums) {
  std::vector<std::uint16_t> tiles(amx_elements(m, k), 0x7fff);
  for (std::size_t i = 0; i < m; ++i)
    variant.kernels->tile_row({x + i * k, tiles.data(), i, k, sums});
  return tiles;
}

// All panels, a few at a time; no more rows at once than the product takes.
void multiply(const Variant& variant, AmxWay way, const float* x, std::size_t m, const Weights& w,
              bool accumulate, float* y, std::size_t y_stride) {
  const std::size_t most = way == AmxWay::kMany ? m : kAmxFew;
  for (; m > most; m -= most, x += most * w.k, y += most * y_stride)
    multiply(variant, way, x, most, w, accumulate, y, y_stride);
  const auto tiles = tiled(variant, x, m, w.k, way == AmxWay::kCodes && has_minima(w.type));
  static std::vector<std::byte> memory(kAmxScratchBytes + 64);
  auto* scratch = memory.data() + 63 - (reinterpret_cast<std::uintptr_t>(memory.data()) + 63) % 64;
  const std::size_t panels = (w.n + 15) / 16;
  const auto product = product_of(*variant.kernels, way);
  for (std::size_t p = 0; p < panels; p += 5)
    product({tiles.data(), w.bytes.data(), y, y_stride, m, w.k, w.n, p, std::min(p + 5, panels),
             w.type, accumulate, scratch});
}

TEST_CASE("how the products on tiles run here") {
  for (const Variant& variant : variants()) std::printf("amx: %s\n", variant.name.c_str());
  if (variants().empty())
    std::printf("skipped: amx, which needs AVX-512 or SIMDe (libsimde-dev) for its stand-in\n");
}

TEST_CASE("the stand-in adds as tdpbf16ps does") {
  unsigned char config[64] = {1};
  for (int t = 0; t < 8; ++t) config[16 + 2 * t] = 64, config[48 + t] = 16;
  const auto product = [&](std::vector<float> a, std::vector<float> b, float sum) {
    std::uint16_t x[16][32] = {}, w[16][32] = {};
    float y[16][16] = {{sum}};
    for (std::size_t k = 0; k < a.size(); ++k) {
      x[0][k] = bf16_from_f32(a[k]);
      w[k / 2][k % 2] = bf16_from_f32(b[k]);
    }
    stand_in::configure(config);
    stand_in::load(0, y, 64);
    stand_in::load(1, x, 64);
    stand_in::load(2, w, 64);
    stand_in::dot_bf16(0, 1, 2);
    stand_in::store(0, y, 64);
    stand_in::release();
    return y[0][0];
  };
  REQUIRE(product({2, 3}, {5, 7}, 1) == 32.0f);
  // Even elements cancel before they meet the odd one, and all of it before the sum.
  REQUIRE(product({0x1p30f, 1, -0x1p30f}, {1, 1, 1}, 0) == 1.0f);
  REQUIRE(product({0x1p30f, -0x1p30f}, {1, 1}, 1) == 1.0f);
  REQUIRE(product({1, 0, 1}, {1, 0, -0x1p-30f}, 0) == 1.0f);  // to nearest
  // Denormals: of an input, of a product, of the sum.
  REQUIRE(product({0x1p-130f}, {0x1p30f}, 0) == 0.0f);
  REQUIRE(product({0x1p-70f}, {0x1p-60f}, 0) == 0.0f);
  REQUIRE(product({0}, {0}, 0x1p-130f) == 0.0f);
}

TEST_CASE("the stand-in's tiles of half the depth") {
  std::uint16_t x[16][32], w[16][32];
  for (auto& row : x)
    for (auto& value : row) value = bf16_from_f32(1.0f);
  std::memcpy(w, x, sizeof w);
  float y[16][16] = {};
  using stand_in::Tiles;
  const auto product = [&] {
    Tiles::load<6>(y, 64);
    Tiles::load<4>(x, 64);
    Tiles::load<0>(w, 64);
    Tiles::dot_bf16<6, 4, 0>();
    Tiles::store<6>(y, 64);
  };
  Tiles::configure_half();
  product();
  REQUIRE((y[0][0] == 16.0f && y[15][15] == 16.0f));
  stand_in::dot_bf16(6, 6, 0);  // 16 pairs by 8: they do not fit, and nothing is done
  Tiles::store<6>(y, 64);
  REQUIRE(y[0][0] == 16.0f);
  Tiles::configure();
  product();
  REQUIRE(y[7][7] == 48.0f);
  Tiles::release();
  product();
  REQUIRE(y[7][7] == 48.0f);
}

TEST_CASE("rows in tiles: nearest bf16, zeros past k") {
  Random random(1);
  for (const Variant& variant : variants()) {
    INFO(variant.name);
    for (const std::size_t k : {1u, 32u, 48u, 95u}) {
      const std::size_t m = random.between(1, 40);
      auto x = random.floats(m * k);
      x[0] = std::nanf("7");
      x[k * m - 1] = 1.0f + 0x1p-8f;  // a tie
      const auto tiles = tiled(variant, x.data(), m, k, random.chance(0.5));
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t c = 0; c < amx_tiles_across(k) * 32; ++c) {
          const std::uint16_t got = tiles[amx_row_at(i, k) + amx_column_at(c)];
          if (c < k && std::isnan(x[i * k + c]))
            REQUIRE(std::isnan(f32_from_bf16(got)));
          else
            REQUIRE(got == (c < k ? bf16_from_f32(x[i * k + c]) : 0));
        }
      }
    }
  }
}

TEST_CASE("sums of rows in tiles: of what was rounded, within 2^-16") {
  Random random(6);
  for (const Variant& variant : variants()) {
    INFO(variant.name);
    for (const std::size_t k : {32u, 256u, 352u, 800u}) {
      const std::size_t m = random.between(1, 20);
      const auto x = random.floats(m * k);
      const auto tiles = tiled(variant, x.data(), m, k, true);
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t g = 0; g < (k + 255) / 256 * 8; ++g) {
          double sum = 0.0, magnitude = 0.0;
          for (std::size_t c = 32 * g; c < std::min(32 * g + 32, k); ++c) {
            sum += bf16(x[i * k + c]);
            magnitude += std::fabs(bf16(x[i * k + c]));
          }
          const std::uint16_t* pairs = tiles.data() + amx_row_at(i, k) +
                                       (amx_tiles_across(k) + g / 8) * kAmxTileBytes / 2 +
                                       g % 8 * 2;
          const double got = double{f32_from_bf16(pairs[0])} + f32_from_bf16(pairs[1]);
          REQUIRE(std::fabs(got - sum) <= 0x1p-16 * std::fabs(sum) + 5 * kEps * magnitude);
          REQUIRE((pairs[16] == pairs[0] && pairs[17] == pairs[1]));
        }
      }
    }
  }
}

TEST_CASE("rows of any float in tiles: nearest bf16, NaN for NaN") {
  for (const Variant& variant : variants()) {
    INFO(variant.name);
    std::size_t wrong = 0;
    for_float_blocks([&](const std::vector<float>& x) {
      const auto tiles = tiled(variant, x.data(), 1, x.size(), false);
      for (std::size_t c = 0; c < x.size(); ++c) {
        const std::uint16_t got = tiles[amx_row_at(0, x.size()) + amx_column_at(c)];
        wrong += std::isnan(x[c]) ? !std::isnan(f32_from_bf16(got)) : got != bf16_from_f32(x[c]);
      }
    });
    CHECK(wrong == 0);
  }
}

// The tiles read denormals as zeros and write zeros for them.
TEST_CASE("products on tiles of rows that are hard") {
  constexpr std::size_t n = 18, k = 512;
  Random random(5);
  auto rows = finite_rows(random, k);
  for (HardRow& row : broken_rows(random, k)) rows.push_back(std::move(row));
  std::vector<float> x;
  for (const HardRow& row : rows) x.insert(x.end(), row.x.begin(), row.x.end());
  for (const Variant& variant : variants()) {
    for (const AmxWay way : kWays) {
      for (const Type type : types(way)) {
        const Weights w(random, type, n, k);
        const double minima = has_minima(type) ? 0.1 * 128 : 0.0;
        std::vector<float> y(rows.size() * n);
        multiply(variant, way, x.data(), rows.size(), w, false, y.data(), n);
        for (std::size_t i = 0; i < y.size(); ++i) {
          double want = 0.0, magnitude = 0.0, coarse = 0.0;
          for (std::size_t c = 0; c < k; ++c) {
            const double a = bf16(x[i / n * k + c]), element = w.at(i % n, c);
            want += a * element;
            magnitude += std::fabs(a * element);
            coarse +=
                std::fabs(a) * (std::fabs(element) * step_of(way, type) + minima * 256 * kEps);
          }
          INFO(name_of(variant, way, type)
               << ", " << rows[i / n].name << ": " << y[i] << " for " << want);
          const double most = static_cast<double>(k + k / 32 + 3) * kEps * magnitude * 1.01 +
                              coarse * 1.01 + 2 * k * 0x1p-126;
          bool right = std::fabs(y[i] - want) <= most;
          if (!std::isfinite(want)) right = !std::isfinite(y[i]);
          // Where magnitudes add up to no float, sums may overflow on their way, and show it.
          if (std::isfinite(want) && !std::isfinite(y[i]))
            right = magnitude + most > std::numeric_limits<float>::max();
          if (!right) FAIL("not near enough");
        }
      }
    }
  }
}

// Rows that are 1 in one column show the widened weights themselves.
TEST_CASE("weights are widened to the nearest bf16") {
  Random random(2);
  for (const Variant& variant : variants()) {
    for (const AmxWay way : {AmxWay::kFew, AmxWay::kMany}) {
      for (const Type type : types()) {
        INFO(name_of(variant, way, type));
        const std::size_t block = type == Type::kBf16 ? 37 : shape_of(type).elements;
        const std::size_t k = block == 256 ? 256 : 2 * block, n = 18;
        const Weights w(random, type, n, k);
        std::vector<float> x(k * k), y(k * n);
        for (std::size_t i = 0; i < k; ++i) x[i * k + i] = 1.0f;
        multiply(variant, way, x.data(), k, w, false, y.data(), n);
        for (std::size_t c = 0; c < k; ++c) {
          for (std::size_t j = 0; j < n; ++j) {
            const double want = w.at(j, c);
            REQUIRE(bf16(y[c * n + j]) == y[c * n + j]);
            // 256 units of the scale (at most 0.1 x 128) are rounded in f32 where there are minima.
            const double rounding = has_minima(type) ? kEps * 256 * 0.1 * 128 : 0x1p-126;
            REQUIRE(std::fabs(y[c * n + j] - want) <= kHalfStep * std::fabs(want) + rounding);
          }
        }
      }
    }
  }
}

TEST_CASE("codes are multiplied exactly") {
  Random random(2);
  for (const Variant& variant : variants()) {
    for (const Type type : types(AmxWay::kCodes)) {
      INFO(variant.name << ", " << shape_of(type).name);
      const std::size_t block = shape_of(type).elements, k = block == 256 ? 256 : 3 * block, n = 18;
      const Weights w(random, type, n, k);
      std::vector<float> x(k * k), y(k * n);
      for (std::size_t i = 0; i < k; ++i) x[i * k + i] = 1.0f;
      multiply(variant, AmxWay::kCodes, x.data(), k, w, false, y.data(), n);
      for (std::size_t c = 0; c < k; ++c) {
        for (std::size_t j = 0; j < n; ++j) {
          // A minimum is two bf16, within 2^-16 of it; then there is one fma.
          const double rounding = has_minima(type) ? 0x1p-16 * 0.1 * 128 : 0x1p-126;
          REQUIRE(std::fabs(y[c * n + j] - w.at(j, c)) <= kEps * std::fabs(w.at(j, c)) + rounding);
        }
      }
    }
  }
}

// One product with random shapes, y wider than the product. round 3: of more depth than is
// multiplied at once, so that sums go on from those before.
void check_product(Random& random, const Variant& variant, AmxWay way, Type type, int round) {
  const std::size_t block = type == Type::kBf16 ? 1 : shape_of(type).elements;
  const std::size_t columns = round == 3 ? random.between(1025, 1300) : random.between(1, 300);
  const std::size_t k = (columns + block - 1) / block * block;
  const std::size_t m = random.between(1, 40), n = random.between(1, 100);
  const std::size_t ys = n + random.below(3);
  const bool accumulate = random.chance(0.5);
  const Weights w(random, type, n, k);
  const auto x = random.floats(m * k), y = random.floats(m * ys);
  auto got = y;
  multiply(variant, way, x.data(), m, w, accumulate, got.data(), ys);
  INFO(name_of(variant, way, type) << " m " << m << " k " << k << " n " << n);
  const double minima = has_minima(type) ? 0.1 * 128 : 0.0;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < ys; ++j) {
      if (j >= n) {
        REQUIRE(got[i * ys + j] == y[i * ys + j]);
        continue;
      }
      double want = accumulate ? y[i * ys + j] : 0.0, magnitude = std::fabs(want), coarse = 0;
      for (std::size_t c = 0; c < k; ++c) {
        const double a = bf16(x[i * k + c]), element = w.at(j, c);
        want += a * element;
        magnitude += std::fabs(a * element);
        coarse += std::fabs(a) * (std::fabs(element) * step_of(way, type) + minima * 256 * kEps);
      }
      const double sums = static_cast<double>(k + k / 32 + 3) * kEps * magnitude * 1.01;
      REQUIRE(std::fabs(got[i * ys + j] - want) <= sums + coarse * 1.01 + 0x1p-100);
    }
  }
}

TEST_CASE("products of many rows agree with double precision") {
  Random random(3);
  for (const Variant& variant : variants())
    for (const AmxWay way : kWays)
      for (const Type type : types(way))
        for (int round = 0; round < 4; ++round) check_product(random, variant, way, type, round);
}

TEST_CASE("what bf16 costs") {
  constexpr std::size_t m = 32, n = 48, k = 512;
  for (const Variant& variant : variants()) {
    for (const AmxWay way : kWays) {
      for (const Type type : types(way)) {
        Random random(4);
        const Weights w(random, type, n, k);
        const auto x = random.floats(m * k);
        std::vector<float> y(m * n);
        multiply(variant, way, x.data(), m, w, false, y.data(), n);
        double error = 0.0, norm = 0.0;
        for (std::size_t i = 0; i < m; ++i) {
          for (std::size_t j = 0; j < n; ++j) {
            double want = 0.0;
            for (std::size_t c = 0; c < k; ++c) want += x[i * k + c] * w.at(j, c);
            error += (y[i * n + j] - want) * (y[i * n + j] - want);
            norm += want * want;
          }
        }
        INFO(name_of(variant, way, type));
        // Roundings of at most 2^-8, uniform: at most sqrt(1 / 3) of that each; of x, and of
        // weights.
        const double roundings = step_of(way, type) == 0.0 ? 1.0 : 2.0;
        REQUIRE(std::sqrt(error / norm) <= std::sqrt(roundings / 3.0) * kHalfStep);
      }
    }
  }
}

}  // namespace
}  // namespace pc::simd
