#include "runtime/model/shape/tensor_binder.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "simd/kernels.h"

using namespace pc;

namespace {

TensorView view(std::string_view dtype, std::vector<std::uint64_t> shape,
                std::span<const std::byte> bytes) {
  return {dtype, std::move(shape), bytes, "file"};
}

}  // namespace

TEST_CASE("tensors stay where they lie, unless kernels could not load from there") {
  alignas(64) std::array<std::byte, 64> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  const std::span all(bytes);
  TensorMap tensors;
  tensors.emplace("even", view("F32", {2, 3}, all.subspan(4, 24)));
  tensors.emplace("odd", view("F32", {2, 3}, all.subspan(2, 24)));
  tensors.emplace("odd half", view("BF16", {6}, all.subspan(3, 12)));
  TensorBinder binder(tensors, "folder");
  CHECK(binder.matrix("even", 2, 3)->data == &bytes[4]);
  const auto odd = binder.matrix("odd", 2, 3);
  const auto half = binder.vector("odd half", 6);
  REQUIRE(odd.ok());
  REQUIRE(half.ok());
  CHECK(binder.check_nothing_left("a model").ok());
  CHECK(reinterpret_cast<std::uintptr_t>(odd->data) % 4 == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(half->data) % 2 == 0);
  CHECK((odd->rows == 2 && odd->cols == 3 && half->rows == 1 && half->cols == 6));
  CHECK(std::memcmp(odd->data, &bytes[2], 24) == 0);
  CHECK(std::memcmp(half->data, &bytes[3], 12) == 0);
  CHECK(binder.release_copies().size() == 2);
}

TEST_CASE("what is stored transposed is turned, wherever it lies") {
  std::array<std::byte, 32> bytes{};
  const std::array<std::uint16_t, 6> stored{1, 2, 3, 4, 5, 6};  // [3, 2]
  std::memcpy(&bytes[1], stored.data(), sizeof stored);
  TensorMap tensors;
  tensors.emplace("w", view("F16", {3, 2}, std::span(bytes).subspan(1, sizeof stored)));
  TensorBinder binder(tensors, "folder");
  const auto turned = binder.transposed("w", 2, 3);
  REQUIRE(turned.ok());
  const std::array<std::uint16_t, 6> want{1, 3, 5, 2, 4, 6};
  CHECK(std::memcmp(turned->data, want.data(), sizeof want) == 0);
}

// A fused bias is cut between heads, which need not be whole blocks.
TEST_CASE("vectors in quantised blocks are refused, matrices are not") {
  const std::vector<std::byte> bytes(2 * 34);
  TensorMap tensors;
  tensors.emplace("b", view("Q8_0", {64}, bytes));
  tensors.emplace("w", view("Q8_0", {2, 32}, bytes));
  TensorBinder binder(tensors, "folder");
  CHECK(binder.matrix("w", 2, 32).ok());
  const auto bias = binder.vector("b", 64);
  REQUIRE_FALSE(bias.ok());
  CHECK(bias.error().code == Code::kUnsupported);
  CHECK_THAT(bias.error().message, Catch::Contains("\"b\" is a vector in quantised blocks"));
}

TEST_CASE("a row is found as a vector and as a matrix, and what is passed over is not left") {
  const std::vector<std::byte> bytes(34);
  TensorMap tensors;
  tensors.emplace("vector", view("F32", {4}, std::span(bytes).first(16)));
  tensors.emplace("matrix", view("F32", {1, 4}, std::span(bytes).first(16)));
  tensors.emplace("blocks", view("Q8_0", {1, 32}, bytes));
  tensors.emplace("visual.merger.weight", view("F32", {4}, std::span(bytes).first(16)));
  TensorBinder binder(tensors, "folder");
  CHECK(binder.one_row("vector", 4).ok());
  CHECK(binder.one_row("matrix", 4).ok());
  CHECK_FALSE(binder.one_row("matrix", 5).ok());
  CHECK_FALSE(binder.one_row("blocks", 32).ok());
  CHECK_FALSE(binder.check_nothing_left("a model").ok());
  binder.pass_over("visual.");
  CHECK(binder.check_nothing_left("a model").ok());
}

TEST_CASE("matrices of experts are turned, and their rows put in order") {
  // Two experts, [2 columns, 4 rows] each: a row is (10 * expert + row, 100 + it).
  std::vector<float> stored;
  for (float expert : {0.f, 10.f})
    for (float column : {0.f, 100.f})
      for (float row : {0.f, 1.f, 2.f, 3.f}) stored.push_back(expert + column + row);
  TensorMap tensors;
  tensors.emplace("w", view("F32", {2, 2, 4}, std::as_bytes(std::span(stored))));
  tensors.emplace("b", view("F32", {2, 8}, std::as_bytes(std::span(stored))));
  TensorBinder binder(tensors, "folder");
  const auto plain = binder.turned_stack("w", 2, 4, 2, RowOrder::kPlain);
  const auto paired = binder.turned_stack("w", 2, 4, 2, RowOrder::kPaired);
  REQUIRE((plain.ok() && paired.ok()));
  const auto at = [](const pc_tensor& t, std::size_t i) {
    return static_cast<const float*>(t.data)[i];
  };
  const std::array<float, 8> rows{0, 1, 2, 3, 10, 11, 12, 13},
      by_halves{0, 2, 1, 3, 10, 12, 11, 13};
  for (std::size_t r = 0; r < 8; ++r) {
    CHECK((at(*plain, 2 * r) == rows[r] && at(*plain, 2 * r + 1) == 100 + rows[r]));
    CHECK((at(*paired, 2 * r) == by_halves[r] && at(*paired, 2 * r + 1) == 100 + by_halves[r]));
  }
  const auto bias = binder.matrix("b", 2, 8);
  REQUIRE(bias.ok());
  const pc_tensor ordered = binder.ordered_columns(*bias, RowOrder::kPaired);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(at(ordered, i) == stored[2 * i]);
    CHECK(at(ordered, 8 + 4 + i) == stored[8 + 2 * i + 1]);
  }
}

TEST_CASE("MXFP4 of a folder is MXFP4 of GGUF") {
  std::vector<std::uint8_t> pairs(2 * 2 * 16), scales(2 * 2);  // one expert, 2 rows of 2 blocks
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = static_cast<std::uint8_t>(37 * i + 11);
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<std::uint8_t>(125 + i);
  TensorMap tensors;
  tensors.emplace("w_blocks", view("U8", {1, 2, 2, 16}, std::as_bytes(std::span(pairs))));
  tensors.emplace("w_scales", view("U8", {1, 2, 2}, std::as_bytes(std::span(scales))));
  TensorBinder binder(tensors, "folder");
  const auto w = binder.mxfp4_stack("w", 1, 2, 64, RowOrder::kPlain);
  REQUIRE(w.ok());
  std::array<float, 128> wide{};
  simd::kScalarKernels.to_f32(w->data, simd::Type::kMXFP4, wide.size(), wide.data());
  // OCP Microscaling 1.0, table of E2M1.
  constexpr std::array<float, 8> kMagnitudes{0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (std::size_t i = 0; i < wide.size(); ++i) {
    const unsigned code = i % 2 == 0 ? pairs[i / 2] & 15u : pairs[i / 2] >> 4;
    const float magnitude = std::ldexp(kMagnitudes[code & 7], scales[i / 32] - 127);
    CHECK(wide[i] == (code & 8 ? -magnitude : magnitude));
  }
  CHECK(binder.check_nothing_left("a model").ok());

  scales[3] = 253;  // 6 times 2^126 is no f32
  const auto infinite = binder.mxfp4_stack("w", 1, 2, 64, RowOrder::kPlain);
  REQUIRE_FALSE(infinite.ok());
  CHECK_THAT(infinite.error().message, Catch::Contains("\"w_scales\" has a scale of 2^126"));
  const auto torn = binder.mxfp4_stack("w", 1, 2, 80, RowOrder::kPlain);
  REQUIRE_FALSE(torn.ok());
  CHECK_THAT(torn.error().message, Catch::Contains("do not fill"));
}
