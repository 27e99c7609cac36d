// The kernels of 64-bit Arm, each once, between two marks where qemu-user counts instructions
// (arm_kernels.py, qemu_counter.c).
//
//   arm_kernels      prints the name of each path in the order in which it is counted
//
// PC_ISA names the table, as everywhere; exits with 77 where this CPU lacks it. Sizes are small: a
// count is the same whatever waits for memory. Integer products take weights [64, 512], of
// 1 and of 16 rows; attention 8 rows of queries against 128 tokens of 64 dimensions.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "simd/kernels.h"
#include "simd/packed/packed.h"
#include "simd/quantised_rows.h"
#include "tests/simd/attend_oracle.h"
#include "tests/support/quant_blocks.h"
#include "tests/support/random.h"

// The counter finds them by these names: none is inlined, none made one with the other.
#define PC_MARK extern "C" __attribute__((noinline, used, no_icf)) void

PC_MARK counting_begins() {
  asm volatile("" ::: "memory");
}

PC_MARK counting_ends() {
  asm volatile("" ::: "memory");
}

namespace pc::simd {
namespace {

constexpr std::size_t kCols = 512, kRows = 64;

template <class Path>
void count(const std::string& name, Path path) {
  std::puts(name.c_str());
  counting_begins();
  path();
  counting_ends();
}

struct NamedType {
  Type type;
  const char* name;
};

std::vector<std::byte> packed_weights(Type type) {
  test::Random random(1);
  const auto blocks = test::random_blocks(random, type, kRows * kCols, 0.1f);
  std::vector<std::byte> packed(packed_bytes(type, kRows, kCols));
  for (std::size_t p = 0; p < kRows / kPanelRows; ++p)
    pack_panel(type, blocks.data(), kRows, kCols, p, packed.data());
  return packed;
}

std::vector<std::byte> activations(const Kernels& table, std::size_t m) {
  test::Random random(2);
  const std::vector<float> x = random.floats(m * kCols);
  std::vector<std::byte> rows(quantised_bytes(m, kCols));
  table.quantise({x.data(), rows.data(), m, kCols, 0, m, 0, kCols / 32});
  return rows;
}

void count_products(const Kernels& table) {
  std::vector<float> y(16 * kRows);
  for (const NamedType of : {NamedType{Type::kQ8_0, "q8_0"}, NamedType{Type::kQ4_0, "q4_0"},
                             NamedType{Type::kQ4_K, "q4_k"}, NamedType{Type::kQ6_K, "q6_k"}}) {
    const std::vector<std::byte> w = packed_weights(of.type);
    for (const std::size_t m : {1, 16}) {
      const std::vector<std::byte> x = activations(table, m);
      const PackedMatmulArgs args{x.data(), w.data(), y.data(),           kRows,   m,    kCols,
                                  kRows,    0,        kRows / kPanelRows, of.type, false};
      count(std::string("product_") + of.name + "_rows_" + std::to_string(m),
            [&] { table.matmul_packed(args); });
    }
  }
}

void count_attention(const Kernels& table) {
  const char* const names[] = {"f32", "bf16", "q8", "q4"};
  test::Random random(3);
  Problem problem(random);
  for (const KvFormat format : kFormats) {
    if (format == KvFormat::kQ4) continue;
    problem.reshape(random, format, 64, 128, 8);
    State state(problem);
    const Subject subject{table.name, table.attend, 0, 0};
    count(std::string("attend_") + names[static_cast<std::uint32_t>(format) - 1],
          [&] { state.attend(problem, subject, problem.begin, problem.end); });
  }
}

// Equal in all tables of NEON.
void count_rows(const Kernels& table) {
  test::Random random(4);
  const std::vector<float> x = random.floats(kCols), weight = random.floats(kCols);
  std::vector<float> y = random.floats(kCols);
  std::vector<std::uint16_t> halves(kCols);
  std::vector<std::byte> rows(quantised_bytes(1, kCols));
  count("rms_norm", [&] { table.rms_norm(x.data(), weight.data(), kCols, 1e-5f, y.data()); });
  count("layer_norm",
        [&] { table.layer_norm(x.data(), weight.data(), nullptr, kCols, 1e-5f, y.data()); });
  count("rotate",
        [&] { table.rotate(x.data(), weight.data(), x.data(), kCols / 2, 1.0f, y.data()); });
  count("silu", [&] { table.activate(Activation::kSilu, y.data(), x.data(), kCols); });
  count("gelu", [&] { table.activate(Activation::kGelu, y.data(), nullptr, kCols); });
  count("add", [&] { table.add(x.data(), 0.5f, kCols, y.data()); });
  count("to_bf16", [&] { table.to_bf16(x.data(), kCols, halves.data()); });
  count("quantise", [&] {
    table.quantise({x.data(), rows.data(), 1, kCols, 0, 1, 0, kCols / 32});
  });
  const MatmulArgs product{x.data(), halves.data(), y.data(), kCols, kCols, 1, kCols, 0,
                           1,        Type::kBf16,   false};
  count("matmul_bf16_row", [&] { table.matmul(product); });
}

}  // namespace
}  // namespace pc::simd

int main() {
  const pc::simd::Kernels* const table = pc::simd::selected_kernels();
  if (!table || !table->matmul_packed) return 77;
  pc::simd::count_products(*table);
  pc::simd::count_attention(*table);
  if (std::strcmp(table->name, "neon") == 0) pc::simd::count_rows(*table);
  return 0;
}
