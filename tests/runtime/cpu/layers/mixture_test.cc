// Mixtures over rows: what many rows get together is what each gets alone; grouped products are
// those of their groups; experts nobody chose are not read.
#include "runtime/cpu/layers/mixture.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <deque>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/packed/packed_weights.h"
#include "simd/packed/packed.h"
#include "tests/support/quant_blocks.h"
#include "tests/support/tiny_model.h"

using namespace pc;
using namespace pc::test;

namespace {

TinyShape mixture_shape(std::uint32_t n_experts, std::uint32_t n_used) {
  TinyShape shape;
  shape.n_experts = n_experts;
  shape.n_used = n_used;
  shape.biases = true;
  return shape;
}

TEST_CASE("rows together get what each gets alone") {
  const auto [n_experts, n_used] =
      GENERATE(std::pair{1u, 1u}, std::pair{4u, 4u}, std::pair{7u, 3u}, std::pair{40u, 2u});
  const TinyModel model(3, mixture_shape(n_experts, n_used));
  const pc_mixture& mixture = model.desc.layers[0].mixture;
  constexpr std::uint32_t kMaxRows = 96;
  const simd::Kernels& kernels = *simd::selected_kernels();
  const Parallel parallel(2);
  Gemm gemm(kernels, parallel, Mixture::extents(model.desc, kMaxRows), nullptr, Precision::kExact);
  Mixture runs(model.desc, kernels, parallel, kMaxRows);
  Random random(9);
  for (const std::uint32_t n : {1u, 2u, 17u, 96u}) {
    const std::size_t d = model.desc.d_model;
    const auto x = random.floats(kMaxRows * d);
    const auto before = random.floats(n * d);
    auto together = before;
    REQUIRE(runs.run(mixture, x.data(), n, true, &gemm, together.data()).ok());
    for (std::uint32_t i = 0; i < n; ++i) {
      std::vector<float> alone(d, NAN);
      REQUIRE(runs.run(mixture, x.data() + i * d, 1, false, &gemm, alone.data()).ok());
      for (std::size_t c = 0; c < d; ++c)
        REQUIRE(together[i * d + c] - before[i * d + c] == Approx(alone[c]).margin(2e-5));
    }
  }
}

// A matrix on pages of its own, so that they can be taken away.
class Pages {
 public:
  explicit Pages(const pc_tensor& t)
      : bytes_(std::size_t{t.rows} * t.cols * sizeof(float)),
        at_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(at_ != MAP_FAILED);
    std::copy_n(static_cast<const std::byte*>(t.data), bytes_, static_cast<std::byte*>(at_));
  }
  ~Pages() { munmap(at_, bytes_); }
  Pages(const Pages&) = delete;
  const void* data() const { return at_; }
  void forbid() const { REQUIRE(mprotect(at_, bytes_, PROT_NONE) == 0); }

 private:
  std::size_t bytes_;
  void* at_;
};

TEST_CASE("experts that nobody chose are not read") {
  const TinyModel model(4, mixture_shape(8, 2));
  pc_mixture mixture = model.desc.layers[0].mixture;
  std::vector<pc_ffn> experts(mixture.experts, mixture.experts + mixture.n_experts);
  std::deque<Pages> pages;
  for (pc_ffn& expert : experts)
    for (pc_tensor* t : {&expert.gate, &expert.up, &expert.down})
      t->data = pages.emplace_back(*t).data();
  mixture.experts = experts.data();
  const std::vector<float> bias{9, 0, 0, 0, 0, 8, 0, 0};  // of choice: experts 0 and 5 are taken
  mixture.choice_bias = {bias.data(), PC_DTYPE_F32, 1, 8};
  for (const std::size_t e : {1, 2, 3, 4, 6, 7})
    for (std::size_t i = 0; i < 3; ++i) pages[3 * e + i].forbid();

  const simd::Kernels& kernels = *simd::selected_kernels();
  const Parallel parallel(2);
  Gemm gemm(kernels, parallel, Mixture::extents(model.desc, 32));
  Mixture runs(model.desc, kernels, parallel, 32);
  Random random(2);
  const auto x = random.floats(32 * model.desc.d_model);
  std::vector<float> y(x.size());
  CHECK(runs.run(mixture, x.data(), 20, false, &gemm, y.data()).ok());
}

TEST_CASE("products of groups are those of each group alone") {
  constexpr std::uint32_t k = 256, n = 48;
  const simd::Type type =
      GENERATE(simd::Type::kF32, simd::Type::kBf16, simd::Type::kQ8_0, simd::Type::kQ4_K);
  const bool packs = GENERATE(false, true);
  const auto precision = GENERATE(Precision::kFast, Precision::kExact, Precision::kDeterministic);
  const simd::Kernels& kernels = *simd::selected_kernels();
  if (packs && (!simd::packs(type) || !kernels.matmul_packed)) return;
  INFO(simd::shape_of(type).name << (packs ? " packed" : "") << ", precision "
                                 << static_cast<int>(precision));
  Random random(6);
  const std::vector<std::uint32_t> sizes{1, 30, 3, 16, 25, 1, 64};
  const std::uint32_t m = std::accumulate(sizes.begin(), sizes.end(), 0u);
  const auto x = random.floats(std::size_t{m + kGemmRowGranule} * k);
  std::vector<std::vector<std::uint8_t>> stored;
  std::vector<pc_tensor> matrices;
  for (std::size_t g = 0; g < 2 * sizes.size(); ++g) {
    if (simd::is_quantised(type)) {
      stored.push_back(random_blocks(random, type, std::size_t{n} * k, 0.1f));
    } else {
      const auto floats = random.floats(std::size_t{n} * k);
      auto& bytes = stored.emplace_back(simd::bytes_of(type, floats.size()));
      if (type == simd::Type::kF32)
        std::memcpy(bytes.data(), floats.data(), bytes.size());
      else
        kernels.to_bf16(floats.data(), floats.size(),
                        reinterpret_cast<std::uint16_t*>(bytes.data()));
    }
    matrices.push_back({stored.back().data(), static_cast<std::uint32_t>(type), n, k});
  }
  std::deque<AlignedBuffer<std::byte>> panels;
  std::unordered_map<const void*, const std::byte*> packed;
  for (const pc_tensor& w : matrices) {
    if (!packs) break;
    auto& p = panels.emplace_back(simd::packed_bytes(type, n, k));
    for (std::size_t i = 0; i < n / simd::kPanelRows; ++i)
      simd::pack_panel(type, w.data, n, k, i, p.data());
    packed[w.data] = p.data();
  }
  const PackedWeights weights(packed);
  const std::uint32_t max_rows = (m + kGemmRowGranule - 1) / kGemmRowGranule * kGemmRowGranule;
  const Gemm::Extent largest{max_rows, k, static_cast<std::uint32_t>(sizes.size())};
  Gemm gemm(kernels, Parallel(2), std::span(&largest, 1), &weights, precision);

  const auto before = random.floats(std::size_t{2} * max_rows * n);
  const bool accumulate = GENERATE(false, true);
  auto together = before, alone = before;
  std::vector<std::array<Gemm::Product, 2>> products(sizes.size());
  std::vector<Gemm::Group> groups;
  const std::size_t second = std::size_t{max_rows} * n;  // where the other products begin
  std::vector<int> made(m);
  for (std::uint32_t g = 0, first = 0; g < sizes.size(); first += sizes[g++]) {
    float* y = together.data() + std::size_t{first} * n;
    products[g] = {{{&matrices[2 * g], y}, {&matrices[2 * g + 1], y + second}}};
    groups.push_back({first, sizes[g], products[g]});
  }
  std::vector<float> copied(x.size());
  const auto make = [&](std::uint32_t i) {
    ++made[i];
    std::copy_n(x.data() + std::size_t{i} * k, k, copied.data() + std::size_t{i} * k);
  };
  REQUIRE(gemm.linear({copied.data(), m, make}, groups, accumulate).ok());
  CHECK(made == std::vector<int>(m, 1));
  for (std::uint32_t g = 0, first = 0; g < sizes.size(); first += sizes[g++]) {
    const std::vector<float> rows(x.begin() + static_cast<std::ptrdiff_t>(std::size_t{first} * k),
                                  x.end());
    for (const std::size_t half : {0, 1}) {
      float* y = alone.data() + half * second + std::size_t{first} * n;
      REQUIRE(gemm.linear({rows.data(), sizes[g]}, matrices[2 * g + half], accumulate, y).ok());
    }
  }
  // Bits, since blocks of random bits have numbers that are none.
  CHECK(std::memcmp(together.data(), alone.data(), together.size() * sizeof(float)) == 0);
}

}  // namespace
