// The matrix product's way through tiles of bf16: natively where the CPU has AMX,
// else its compiled code with AMX's instructions done by a stand-in. In a program
// of its own because that takes SIGILL.

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/cpu/products/gemm.h"
#include "runtime/packed/packed_weights.h"
#include "simd/packed/amx_rows.h"
#include "simd/packed/packed.h"
#include "simd/packed_kernels.h"
#include "tests/support/made_rows.h"
#include "tests/support/quant_blocks.h"
#include "tests/support/random.h"
#if defined(__x86_64__) && defined(__linux__)
#include "tests/simd/amx_trap.h"
#endif

namespace pc {
namespace {

using simd::Type;
using test::Random;

// while_used: AMX's instructions are the stand-in's.
struct TileKernels : simd::Kernels {
  std::shared_ptr<void> while_used;
};

// Nothing on a CPU without AVX-512.
std::optional<TileKernels> kernels_with_tiles() {
  TileKernels kernels{*simd::supported_kernels().front(), nullptr};
#if defined(__x86_64__) && defined(__linux__)
  if (!kernels.amx && __builtin_cpu_supports("avx512bw")) {
    kernels.while_used = std::make_shared<simd::stand_in::Trap>();
    kernels.amx = &simd::kAmxKernels;
  }
#endif
  if (!kernels.amx) return std::nullopt;
  return kernels;
}

struct Stored {
  std::vector<std::uint8_t> bytes;
  std::vector<std::byte> panels;  // empty for bf16
};

Stored stored(Random& random, Type type, std::size_t n, std::size_t k) {
  Stored w;
  if (type == Type::kBf16) {
    w.bytes.resize(2 * n * k);
    const auto values = random.floats(n * k);
    simd::kScalarKernels.to_bf16(values.data(), n * k,
                                 reinterpret_cast<std::uint16_t*>(w.bytes.data()));
    return w;
  }
  w.bytes = test::random_blocks(random, type, n * k, 0.1f);
  w.panels.resize(simd::packed_bytes(type, n, k));
  for (std::size_t p = 0; p < (n + 15) / 16; ++p)
    simd::pack_panel(type, w.bytes.data(), n, k, p, w.panels.data());
  return w;
}

TEST_CASE("many rows go through tiles, few do not") {
  const auto kernels = kernels_with_tiles();
  if (!kernels) return void(std::printf("skipped: tiles, which need AVX-512\n"));
  constexpr std::uint32_t k = 512, n = 266, max_rows = 160;
  Random random(1);
  for (const Type type : {Type::kBf16, Type::kQ8_0, Type::kQ4_0, Type::kQ4_K, Type::kQ6_K}) {
    const Stored s = stored(random, type, n, k);
    const PackedWeights packed =
        s.panels.empty() ? PackedWeights() : PackedWeights({{s.bytes.data(), s.panels.data()}});
    simd::Kernels others = *kernels;
    others.amx = nullptr;
    Gemm gemm(*kernels, Parallel(2), max_rows, k, &packed);
    Gemm without_tiles(others, Parallel(2), max_rows, k, &packed);
    std::vector<float> wide(std::size_t{n} * k);
    simd::kScalarKernels.to_f32(s.bytes.data(), type, wide.size(), wide.data());
    const pc_tensor w{s.bytes.data(), static_cast<std::uint32_t>(type), n, k};
    for (const std::uint32_t m : {8u, 16u, 33u, 70u, 140u}) {
      const bool accumulate = m == 70;
      const auto x = random.floats(std::size_t{max_rows} * k);
      const auto y = random.floats(std::size_t{max_rows} * n);
      auto got = y;
      REQUIRE(gemm.linear({x.data(), m}, w, accumulate, got.data()).ok());
      double error = 0.0, norm = 0.0;
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          double want = accumulate ? y[i * n + j] : 0.0;
          for (std::size_t e = 0; e < k; ++e) want += double{x[i * k + e]} * wide[j * k + e];
          error += (got[i * n + j] - want) * (got[i * n + j] - want);
          norm += want * want;
        }
      }
      const double relative = std::sqrt(error / norm);
      INFO(simd::shape_of(type).name << ", " << m << " rows");
      // Two roundings of at most 2^-8.
      const simd::AmxWay way = simd::amx_way(type, m);
      const bool on_tiles = way != simd::AmxWay::kNone;
      REQUIRE((on_tiles || m <= 16));
      if (on_tiles) REQUIRE(relative < 0x1p-8 * std::sqrt(2.0 / 3.0));
      // Codes are exact, so that x alone is rounded.
      const bool by_codes = way == simd::AmxWay::kCodes;
      if (by_codes) REQUIRE(relative < 0x1p-8 * std::sqrt(1.0 / 3.0));
      if (!on_tiles && type != Type::kBf16) {  // as without tiles, bit for bit
        auto same = y;
        REQUIRE(without_tiles.linear({x.data(), m}, w, accumulate, same.data()).ok());
        REQUIRE(same == got);
      }
      if (on_tiles)
        std::printf("tiles of %s, %s, %u rows: %.2f %%\n", by_codes ? "codes" : "weights",
                    simd::shape_of(type).name, m, 100 * relative);
      test::check_made_rows(gemm, x, m, {w});
    }
  }
}

// Groups as a mixture's experts have them, each with two matrices, of rows too few for tiles, for
// those of codes, of a few and of many weights.
TEST_CASE("groups of rows go each its way") {
  const auto kernels = kernels_with_tiles();
  if (!kernels) return void(std::printf("skipped: tiles, which need AVX-512\n"));
  constexpr std::uint32_t k = 512, n = 50, sizes[] = {5, 13, 30, 1, 60, 130};
  std::uint32_t m = 0;
  for (const std::uint32_t size : sizes) m += size;
  Random random(2);
  const auto x = random.floats(std::size_t{m + kGemmRowGranule} * k);
  const Type types[] = {Type::kQ4_K, Type::kQ2_K};
  std::vector<Stored> weights;
  std::vector<std::vector<float>> ys;
  std::unordered_map<const void*, const std::byte*> panels;
  for (std::size_t i = 0; i < 2 * std::size(sizes); ++i) {
    weights.push_back(stored(random, types[i % 2], n, k));
    ys.emplace_back(std::size_t{sizes[i / 2]} * n);
    panels[weights.back().bytes.data()] = weights.back().panels.data();
  }
  std::vector<pc_tensor> tensors;
  for (std::size_t i = 0; i < weights.size(); ++i)
    tensors.push_back({weights[i].bytes.data(), static_cast<std::uint32_t>(types[i % 2]), n, k});
  std::vector<std::array<Gemm::Product, 2>> products;
  for (std::size_t g = 0; g < std::size(sizes); ++g)
    products.push_back(
        {{{&tensors[2 * g], ys[2 * g].data()}, {&tensors[2 * g + 1], ys[2 * g + 1].data()}}});
  std::vector<Gemm::Group> groups;
  std::uint32_t first = 0;
  for (std::size_t g = 0; g < std::size(sizes); first += sizes[g++])
    groups.push_back({first, sizes[g], products[g]});

  const PackedWeights packed(panels);
  const Gemm::Extent largest{m, k, std::size(sizes)};
  Gemm gemm(*kernels, Parallel(2), std::span(&largest, 1), &packed);
  REQUIRE(gemm.linear({x.data(), m}, groups, false).ok());
  for (std::size_t i = 0; i < ys.size(); ++i) {
    std::vector<float> wide(std::size_t{n} * k);
    simd::kScalarKernels.to_f32(weights[i].bytes.data(), types[i % 2], wide.size(), wide.data());
    double error = 0.0, norm = 0.0;
    for (std::size_t e = 0; e < ys[i].size(); ++e) {
      double want = 0.0;
      for (std::size_t c = 0; c < k; ++c)
        want += double{x[(groups[i / 2].first + e / n) * k + c]} * wide[e % n * k + c];
      error += (ys[i][e] - want) * (ys[i][e] - want);
      norm += want * want;
    }
    INFO(simd::shape_of(types[i % 2]).name << ", " << sizes[i / 2] << " rows");
    REQUIRE(std::sqrt(error / norm) < 0.01);
  }
}

}  // namespace
}  // namespace pc
