// Weights on the device against the meaning of each type on the host: layouts, widening, rows of
// embeddings, and products of few rows against sums in double.
#include "cuda/products/weights.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "cuda/device/device_buffer.h"
#include "simd/scalar_quant.h"
#include "tests/support/expect.h"
#include "tests/support/quant_blocks.h"
#include "tests/support/random.h"

namespace pc::cuda {
namespace {

using simd::Type;

constexpr Type kTypes[] = {Type::kF32,  Type::kF16,  Type::kBf16, Type::kQ8_0, Type::kQ4_0,
                           Type::kQ4_1, Type::kQ5_0, Type::kQ5_1, Type::kQ2_K, Type::kQ3_K,
                           Type::kQ4_K, Type::kQ5_K, Type::kQ6_K};

std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

// To nearest even by what the numbers are: of the two neighbours, the nearer one.
std::uint16_t nearest_bf16(float x) {
  const std::uint32_t below = bits_of(x) >> 16;  // towards 0
  const auto number = [](std::uint32_t bf16) {
    const std::uint32_t bits = bf16 << 16;
    float f;
    std::memcpy(&f, &bits, sizeof f);
    return static_cast<double>(f);
  };
  const double down = std::abs(x - number(below)), up = std::abs(number(below + 1) - x);
  const bool further = up < down || (up == down && below % 2 == 1);
  return static_cast<std::uint16_t>(below + further);
}

template <class T>
DeviceBuffer<T> upload(const std::vector<T>& values) {
  auto buffer = test::must(DeviceBuffer<T>::make(values.size()));
  REQUIRE(cudaMemcpy(buffer.data(), values.data(), buffer.bytes(), cudaMemcpyHostToDevice) ==
          cudaSuccess);
  return buffer;
}

template <class T>
std::vector<T> download(const DeviceBuffer<T>& buffer) {
  std::vector<T> values(buffer.size());
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  REQUIRE(cudaGetLastError() == cudaSuccess);
  REQUIRE(cudaMemcpy(values.data(), buffer.data(), buffer.bytes(), cudaMemcpyDeviceToHost) ==
          cudaSuccess);
  return values;
}

// Numbers that are finite, small ones and subnormal halves among them.
std::vector<std::uint8_t> random_elements(test::Random& random, Type type, std::size_t n) {
  if (simd::is_quantised(type)) return test::random_blocks(random, type, n, 2.0f);
  std::vector<std::uint8_t> bytes(simd::bytes_of(type, n));
  for (std::size_t i = 0; i < n; ++i) {
    const float x = random.symmetric() * (random.chance(0.1) ? 0x1p-15f : 1.0f);
    const std::uint32_t bits = bits_of(x);
    const std::uint16_t half =
        type == Type::kBf16 ? static_cast<std::uint16_t>(bits >> 16)
                            : static_cast<std::uint16_t>(
                                  (x < 0 ? 0x8000u : 0u) |
                                  (std::abs(x) < 0x1p-24f ? 0u : test::f16_below(std::abs(x))));
    if (type == Type::kF32)
      std::memcpy(bytes.data() + 4 * i, &bits, 4);
    else
      std::memcpy(bytes.data() + 2 * i, &half, 2);
  }
  return bytes;
}

float element(const std::vector<std::uint8_t>& stored, Type type, std::size_t i) {
  if (simd::is_quantised(type)) return simd::quantised_element(stored.data(), type, i);
  std::uint32_t bits = 0;
  std::memcpy(&bits, stored.data() + simd::bytes_of(type, i), simd::bytes_of(type, 1));
  if (type == Type::kF16) return simd::f32_from_f16(static_cast<std::uint16_t>(bits));
  if (type == Type::kBf16) bits <<= 16;
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// A matrix of random numbers, on the host as numbers, on the device as kernels want it.
struct Matrix {
  std::vector<float> numbers;  // [rows, cols]
  DeviceBuffer<std::byte> data;
  Weight weight;
};

Matrix make_matrix(test::Random& random, Type type, std::uint32_t rows, std::uint32_t cols) {
  const auto dtype = static_cast<std::uint32_t>(type);
  const std::vector<std::uint8_t> stored = random_elements(random, type, std::size_t{rows} * cols);
  Matrix m;
  m.numbers.resize(std::size_t{rows} * cols);
  for (std::size_t i = 0; i < m.numbers.size(); ++i) m.numbers[i] = element(stored, type, i);
  m.data = test::must(DeviceBuffer<std::byte>::make(weight_bytes(dtype, rows, cols)));
  m.weight = {m.data.data(), dtype, rows, cols};

  const std::size_t row_bytes = simd::bytes_of(type, cols);
  for (std::uint32_t first = 0; first < rows;) {
    const std::uint32_t n = random.between(1, rows - first);
    std::vector<std::uint8_t> piece(2);  // its rows are on 2 bytes and no more
    const auto begin = stored.begin() + static_cast<std::ptrdiff_t>(first * row_bytes);
    piece.insert(piece.end(), begin, begin + static_cast<std::ptrdiff_t>(n * row_bytes));
    const auto on_device = upload(piece);
    lay_out(dtype, rows, cols, first, n, on_device.data() + 2, m.data.data(), nullptr);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    first += n;
  }
  return m;
}

std::uint32_t random_columns(test::Random& random, Type type, std::uint32_t most_blocks) {
  return simd::is_quantised(type) ? simd::shape_of(type).elements * random.between(1, most_blocks)
                                  : random.between(1, 100 * most_blocks);
}

TEST_CASE("widened weights are what their types say, to the bit") {
  for (const Type type : kTypes) {
    test::Random random(static_cast<std::uint64_t>(type));
    INFO(simd::shape_of(type).name);
    const std::uint32_t rows = random.between(3, 9), cols = random_columns(random, type, 5);
    const Matrix m = make_matrix(random, type, rows, cols);
    const std::uint32_t first = random.below(rows), n = random.between(1, rows - first);
    const auto wide = test::must(DeviceBuffer<float>::make(std::size_t{n} * cols));
    const auto rounded = test::must(DeviceBuffer<std::uint16_t>::make(std::size_t{n} * cols));
    widen(m.weight, first, n, Wide::kF32, wide.data(), nullptr);
    widen(m.weight, first, n, Wide::kBf16, rounded.data(), nullptr);
    const std::vector<float> numbers = download(wide);
    const std::vector<std::uint16_t> bf16 = download(rounded);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const float expected = m.numbers[std::size_t{first} * cols + i];
      wrong += bits_of(numbers[i]) != bits_of(expected) || bf16[i] != nearest_bf16(expected);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("every code of every block means what its type says") {
  for (const Type type : std::span(kTypes).subspan(3)) {
    test::Random random(100 + static_cast<std::uint64_t>(type));
    INFO(simd::shape_of(type).name);
    const Matrix m = make_matrix(random, type, 64, 512);
    const auto wide = test::must(DeviceBuffer<float>::make(m.numbers.size()));
    widen(m.weight, 0, 64, Wide::kF32, wide.data(), nullptr);
    const std::vector<float> numbers = download(wide);
    CHECK(std::memcmp(numbers.data(), m.numbers.data(), 4 * numbers.size()) == 0);
  }
}

TEST_CASE("rows of an embedding are gathered by their ids") {
  for (const Type type : kTypes) {
    test::Random random(200 + static_cast<std::uint64_t>(type));
    INFO(simd::shape_of(type).name);
    const std::uint32_t rows = 11, cols = random_columns(random, type, 3);
    const Matrix m = make_matrix(random, type, rows, cols);
    const std::vector<std::int32_t> ids = {7, 0, 10, 7, 3};
    const auto on_device = upload(ids);
    const auto out = test::must(DeviceBuffer<float>::make(ids.size() * cols));
    gather_rows(m.weight, on_device.data(), 5, out.data(), nullptr);
    const std::vector<float> numbers = download(out);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto row = static_cast<std::size_t>(ids[i]);
      CHECK(std::memcmp(&numbers[i * cols], &m.numbers[row * cols], 4 * cols) == 0);
    }
  }
}

struct Product {
  std::uint32_t n, x_stride, y_stride;
  std::uint32_t x_offset;  // elements from an aligned address
  bool add;
};

void check_product(test::Random& random, const Matrix& m, const Product& p) {
  const std::uint32_t rows = m.weight.rows, cols = m.weight.cols;
  CAPTURE(simd::shape_of(static_cast<Type>(m.weight.dtype)).name, rows, cols, p.n, p.x_stride,
          p.y_stride, p.x_offset, p.add);
  const std::vector<float> x = random.floats(p.x_offset + std::size_t{p.n} * p.x_stride);
  const std::vector<float> before = random.floats(std::size_t{p.n} * p.y_stride);
  const auto x_device = upload(x), y_device = upload(before);
  multiply_few_rows(m.weight, x_device.data() + p.x_offset, p.x_stride, p.n, y_device.data(),
                    p.y_stride, p.add, nullptr);
  const std::vector<float> y = download(y_device);
  std::size_t wrong = 0;
  for (std::uint32_t i = 0; i < p.n; ++i) {
    for (std::uint32_t r = 0; r < p.y_stride; ++r) {
      const std::size_t at = std::size_t{i} * p.y_stride + r;
      if (r >= rows) {
        wrong += bits_of(y[at]) != bits_of(before[at]);
        continue;
      }
      double sum = p.add ? before[at] : 0.0, sizes = std::abs(sum);
      for (std::uint32_t c = 0; c < cols; ++c) {
        const double product = double{m.numbers[std::size_t{r} * cols + c]} *
                               x[p.x_offset + std::size_t{i} * p.x_stride + c];
        sum += product;
        sizes += std::abs(product);
      }
      // Minima and what they are subtracted from may be larger than what is left.
      wrong += !(std::abs(y[at] - sum) <= 1e-5 * sizes + 1e-6);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("products of few rows are sums of products") {
  for (const Type type : kTypes) {
    test::Random random(300 + static_cast<std::uint64_t>(type));
    for (const std::uint32_t n : {1u, 2u, 3u, 5u, 8u, 11u}) {
      const std::uint32_t rows = random.between(1, 21), cols = random_columns(random, type, 4);
      const Matrix m = make_matrix(random, type, rows, cols);
      check_product(random, m, {n, cols, rows, 0, false});
      check_product(
          random, m,
          {n, cols + random.below(9), rows + random.below(5), random.below(4), random.chance(0.5)});
    }
  }
}

TEST_CASE("products go over many tiles of columns, in parts and whole") {
  for (const Type type : {Type::kF32, Type::kF16, Type::kBf16, Type::kQ8_0, Type::kQ5_1,
                          Type::kQ2_K, Type::kQ4_K, Type::kQ6_K}) {
    test::Random random(400 + static_cast<std::uint64_t>(type));
    const Matrix wide = make_matrix(random, type, 5, 9984);  // 39 blocks of 256
    check_product(random, wide, {1, 9984, 5, 0, false});
    check_product(random, wide, {2, 9984, 7, 0, true});
    const Matrix tall = make_matrix(random, type, 70, 2560);
    check_product(random, tall, {4, 2560, 70, 0, false});
    check_product(random, tall, {8, 2564, 72, 0, true});
  }
}

TEST_CASE("matrices of many rows are multiplied by warps of their own") {
  test::Random random(500);
  const Matrix m = make_matrix(random, Type::kQ4_0, 8600, 64);  // more groups than warps are wanted
  check_product(random, m, {1, 64, 8600, 0, false});
  check_product(random, m, {9, 64, 8600, 0, true});
}

TEST_CASE("sums do not change from call to call") {
  test::Random random(600);
  const Matrix m = make_matrix(random, Type::kQ4_K, 33, 4096);
  const auto x = upload(random.floats(4096));
  const auto first = upload(std::vector<float>(33)), second = upload(std::vector<float>(33));
  multiply_few_rows(m.weight, x.data(), 4096, 1, first.data(), 33, false, nullptr);
  multiply_few_rows(m.weight, x.data(), 4096, 1, second.data(), 33, false, nullptr);
  const std::vector<float> a = download(first), b = download(second);
  CHECK(std::memcmp(a.data(), b.data(), 4 * a.size()) == 0);
}

}  // namespace
}  // namespace pc::cuda
