// Which table runs: found once, on first use.

#include <array>
#include <cstdlib>
#include <cstring>

#include "simd/kernels.h"
#include "simd/packed_kernels.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace pc::simd {

// hwy_kernels.cc
std::size_t hwy_tables(const Kernels** out, std::size_t capacity);

namespace {

struct Supported {
  std::array<Kernels, 8> completed{};  // Highway's tables and what Highway lacks
  std::array<const Kernels*, 9> tables{};
  std::size_t n = 0;
  Supported();
  void add(const Kernels& table) {
    completed[n] = table;
    tables[n] = &completed[n];
    ++n;
  }
};

#if defined(__x86_64__)

// Integer products of the table's own instruction set or a lower one, as far
// as this CPU has them (AVX-512 came before VNNI). The tiles of AMX are a table
// of their own, so that PC_ISA can do without them.
void add_completed(Kernels table, Supported& supported) {
  const bool avx512 = std::strncmp(table.name, "avx512", 6) == 0;  // with or without bf16
  if (avx512 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni")) {
    table.matmul_packed = matmul_packed_vnni;
    if (supported.n == 0 && amx_available()) {
      Kernels amx = table;
      amx.name = "amx";
      amx.timed_on = "Intel Xeon with AMX";
      amx.amx = &kAmxKernels;
      if (__builtin_cpu_supports("avx512bf16")) amx.attend = attend_amx;
      supported.add(amx);
    }
    const bool bf16 = std::strcmp(table.name, "avx512_bf16") == 0;
    table.timed_on = bf16 ? "AMD Zen 4 and Zen 5" : "AMD Zen 4";
  } else if (avx512 || std::strcmp(table.name, "avx2") == 0) {
    table.matmul_packed = matmul_packed_avx2;
    if (!avx512) table.timed_on = "AMD Zen 4";
  }
  supported.add(table);
}

#elif defined(__aarch64__)

// A table for each of the products that this CPU has, best first: pairs of bf16 in
// attention over the best integer ones, then those alone.
void add_completed(Kernels table, Supported& supported) {
  const auto add = [&](const char* name, decltype(Kernels::attend) attend,
                       decltype(Kernels::matmul_packed) product) {
    Kernels completed = table;
    completed.name = name;
    completed.attend = attend;
    completed.matmul_packed = product;
    supported.add(completed);
  };
  const bool dot = getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
  const bool i8mm = dot && (getauxval(AT_HWCAP2) & HWCAP2_I8MM);
  const auto best = i8mm ? matmul_packed_neon_i8mm : matmul_packed_neon_dot;
  if (dot && (getauxval(AT_HWCAP2) & HWCAP2_BF16)) add("neon_bf16", attend_neon_bf16, best);
  if (i8mm) add("neon_i8mm", attend_neon_dot, matmul_packed_neon_i8mm);
  if (dot) add("neon_dot", attend_neon_dot, matmul_packed_neon_dot);
  add("neon", table.attend, matmul_packed_neon);
}

#else

void add_completed(const Kernels& table, Supported& supported) {
  supported.add(table);
}

#endif

Supported::Supported() {
  std::array<const Kernels*, 7> found{};
  const std::size_t n_found = hwy_tables(found.data(), found.size());
  for (std::size_t i = 0; i < n_found; ++i) add_completed(*found[i], *this);
  tables[n++] = &kScalarKernels;
}

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

const Kernels& selected_or_scalar_kernels() {
  const Kernels* selected = selected_kernels();
  return selected ? *selected : kScalarKernels;
}

}  // namespace pc::simd
