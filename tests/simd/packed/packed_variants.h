// The packed products that can run here: natively (or as qemu-user's CPU) where the
// CPU has the instruction set, and hand-written x86 intrinsics through SIMDe's portable C
// (tests/simd/simde/immintrin.h) where SIMDe is installed, whatever the CPU.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "simd/kernels.h"

namespace pc::simd {

// The sources of simd/ once more, under these names.
void matmul_packed_avx2_simde(const PackedMatmulArgs& args);
void matmul_packed_vnni_simde(const PackedMatmulArgs& args);

struct PackedVariant {
  std::string name;
  decltype(Kernels::matmul_packed) product;
};

inline std::vector<PackedVariant> packed_variants() {
  const char* where = std::getenv("QEMU_CPU") ? ", under qemu-user" : ", natively";
  std::vector<PackedVariant> variants;
  for (const Kernels* table : supported_kernels())
    if (table->matmul_packed)
      variants.push_back({table->name + std::string(where), table->matmul_packed});
#ifdef PC_HAVE_SIMDE
  variants.push_back({"avx512 with VNNI, through SIMDe", matmul_packed_vnni_simde});
  variants.push_back({"avx2, through SIMDe", matmul_packed_avx2_simde});
#endif
  return variants;
}

}  // namespace pc::simd
