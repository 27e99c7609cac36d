// Which table runs: found once, on first use.

#include <array>
#include <cstdlib>
#include <cstring>

#include "simd/kernels.h"
#include "simd/packed_kernels.h"

namespace pc::simd {

std::size_t hwy_tables(const Kernels** out, std::size_t capacity);  // hwy_kernels.cc

namespace {

// Integer products for a table of Highway's: those of its own instruction set
// or a lower one, as far as this CPU has them (AVX-512 came before VNNI).
auto packed_product([[maybe_unused]] const char* name) -> decltype(Kernels::matmul_packed) {
#if defined(__x86_64__)
  const bool avx512 = std::strncmp(name, "avx512", 6) == 0;
  if (avx512 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni"))
    return matmul_packed_vnni;
  if (avx512 || std::strcmp(name, "avx2") == 0) return matmul_packed_avx2;
#endif
  return nullptr;
}

const char* timed_on([[maybe_unused]] const Kernels& table) {
#if defined(__x86_64__)
  if (table.matmul_packed == matmul_packed_vnni || std::strcmp(table.name, "avx2") == 0)
    return "AMD Zen 4";
#endif
  return nullptr;
}

// The tiles of AMX are a table of their own, so that PC_ISA can do without them.
bool add_amx([[maybe_unused]] const Kernels& best, [[maybe_unused]] Kernels& amx) {
#if defined(__x86_64__)
  if (best.matmul_packed != matmul_packed_vnni || !amx_available()) return false;
  amx = best;
  amx.name = "amx";
  amx.amx = &kAmxKernels;
  amx.timed_on = nullptr;
  return true;
#else
  return false;
#endif
}

struct Supported {
  std::array<Kernels, 8> completed{};  // [0] for AMX; Highway's tables and what Highway lacks
  std::array<const Kernels*, 9> tables{};
  std::size_t n = 0;
  Supported() {
    std::array<const Kernels*, 7> found{};
    const std::size_t n_found = hwy_tables(found.data(), found.size());
    for (std::size_t i = 1; i <= n_found; ++i) {
      completed[i] = *found[i - 1];
      completed[i].matmul_packed = packed_product(completed[i].name);
      completed[i].timed_on = timed_on(completed[i]);
    }
    if (add_amx(completed[1], completed[0])) tables[n++] = &completed[0];
    for (std::size_t i = 1; i <= n_found; ++i) tables[n++] = &completed[i];
    tables[n++] = &kScalarKernels;
  }
};

}  // namespace

std::span<const Kernels* const> supported_kernels() {
  static const Supported supported;
  return {supported.tables.data(), supported.n};
}

const Kernels* selected_kernels() {
  const char* wanted = std::getenv("PC_ISA");
  if (!wanted || !*wanted) return supported_kernels().front();
  for (const Kernels* table : supported_kernels()) {
    if (std::strcmp(table->name, wanted) == 0) return table;
  }
  return nullptr;
}

}  // namespace pc::simd
