// Which table runs: found once, on first use.

#include <array>
#include <cstdlib>
#include <cstring>

#include "simd/kernels.h"

namespace pc::simd {

std::size_t hwy_tables(const Kernels** out, std::size_t capacity);  // hwy_kernels.cc

namespace {

struct Supported {
  std::array<const Kernels*, 8> tables{};
  std::size_t n = 0;
  Supported() {
    n = hwy_tables(tables.data(), tables.size() - 1);
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
