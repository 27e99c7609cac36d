// Tile products' kernels, each once, their instructions counted by single steps (amx_kernels.py).
//
//   amx_kernels [TRACE]     prints "path instructions"; to the file TRACE, for each path, its name
//   and
//                           the addresses of what it executed, from that of `counting_begins`
//
// Exits with 77 where the CPU lacks AVX-512 with BW and VNNI; it needs no AMX. Products take
// weights [64, 512]: in each of the ways for tiles, and in 8 bits by AVX-512 VNNI.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "simd/kernels.h"
#include "simd/packed/amx_rows.h"
#include "simd/packed/packed.h"
#include "simd/packed_kernels.h"
#include "simd/quantised_rows.h"
#include "tests/instructions/stepped.h"
#include "tests/simd/attend_oracle.h"
#include "tests/support/quant_blocks.h"
#include "tests/support/random.h"

extern "C" __attribute__((noinline, used)) void counting_begins() {
  asm volatile("" ::: "memory");
}

namespace pc::simd {
namespace {

constexpr std::size_t kCols = 512, kRows = 64;

std::FILE* trace = nullptr;

template <class Path>
void count(const std::string& name, const Path& path) {
  const std::size_t around = test::Stepped::run([] {}).size();
  const auto& executed = test::Stepped::run(path);
  std::printf("%s %zu\n", name.c_str(), executed.size() - around);
  if (!trace) return;
  std::fprintf(trace, "%s\n", name.c_str());
  for (const std::uintptr_t at : executed)
    std::fprintf(trace, "%" PRIxPTR "\n", at - reinterpret_cast<std::uintptr_t>(&counting_begins));
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

struct Rows {
  std::vector<float> x;
  std::vector<std::uint16_t> tiles;
  std::vector<std::byte> in_8_bits;

  explicit Rows(std::size_t m)
      : tiles(amx_elements(m, kCols)), in_8_bits(quantised_bytes(m, kCols)) {
    test::Random random(2);
    x = random.floats(m * kCols);
    for (std::size_t i = 0; i < m; ++i)
      kAmxKernels.tile_row({x.data() + i * kCols, tiles.data(), i, kCols, true});
    quantise_scalar({x.data(), in_8_bits.data(), m, kCols, 0, m, 0, kCols / 32});
  }
};

void count_products(const NamedType& of, std::size_t m) {
  alignas(64) static std::byte scratch[kAmxScratchBytes];
  const std::vector<std::byte> w = packed_weights(of.type);
  const Rows rows(m);
  std::vector<float> y(m * kRows);
  const AmxMatmulArgs args{rows.tiles.data(),  w.data(), y.data(), kRows,  m, kCols, kRows, 0,
                           kRows / kPanelRows, of.type,  false,    scratch};
  const std::string end = std::string("_") + of.name + "_rows_" + std::to_string(m);
  count("codes" + end, [&] { kAmxKernels.matmul_codes(args); });
  count("few" + end, [&] { kAmxKernels.matmul_few(args); });
  count("many" + end, [&] { kAmxKernels.matmul_many(args); });
  const PackedMatmulArgs in_8_bits{
      rows.in_8_bits.data(), w.data(), y.data(), kRows, m, kCols, kRows, 0,
      kRows / kPanelRows,    of.type,  false};
  if (m == 16) count("vnni" + end, [&] { matmul_packed_vnni(in_8_bits); });
}

void count_attention(std::size_t rows) {
  test::Random random(3);
  Problem problem(random);
  problem.reshape(random, KvFormat::kBf16, 128, 512, rows);
  State state(problem);
  const Subject subject{"amx", attend_amx, 0, 0};
  count("attend_bf16_rows_" + std::to_string(rows),
        [&] { state.attend(problem, subject, problem.begin, problem.end); });
}

void count_row() {
  Rows rows(1);
  for (const bool sums : {false, true})
    count(sums ? "row_512_with_sums" : "row_512", [&] {
      kAmxKernels.tile_row({rows.x.data(), rows.tiles.data(), 0, kCols, sums});
    });
}

}  // namespace
}  // namespace pc::simd

int main(int argc, char** argv) {
  using pc::simd::Type;
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vnni") ||
      !__builtin_cpu_supports("avx512bf16"))
    return 77;
  if (argc > 1 && !(pc::simd::trace = std::fopen(argv[1], "w"))) {
    std::fprintf(stderr, "amx_kernels: %s cannot be written\n", argv[1]);
    return 1;
  }
  for (const pc::simd::NamedType of :
       {pc::simd::NamedType{Type::kQ4_0, "q4_0"}, pc::simd::NamedType{Type::kQ4_K, "q4_k"},
        pc::simd::NamedType{Type::kQ6_K, "q6_k"}, pc::simd::NamedType{Type::kQ8_0, "q8_0"}})
    for (const std::size_t m : {16, 32, 64, 128}) pc::simd::count_products(of, m);
  for (const std::size_t rows : {16, 64}) pc::simd::count_attention(rows);
  pc::simd::count_row();
  return pc::simd::trace && std::fclose(pc::simd::trace) != 0 ? 1 : 0;
}
