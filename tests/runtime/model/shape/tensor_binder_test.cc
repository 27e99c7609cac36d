#include "runtime/model/shape/tensor_binder.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

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
