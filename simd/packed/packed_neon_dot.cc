// Packed products for Arm CPUs with sdot (FEAT_DotProd: Cortex-A76, Neoverse N1, Apple
// M1 and later): four products a lane added to 32 bits, exactly.
// Compiled with its instruction set; all but the entry has internal linkage.

#include "simd/packed/packed.h"
#include "simd/packed/packed_neon-inl.h"
#include "simd/packed_kernels.h"
#include "simd/quantised_rows.h"

namespace pc::simd {
namespace {

struct Isa : Neon {
  static inline __attribute__((always_inline)) I four_quads(I sum, const I* w, int8x16_t x) {
    sum = vdotq_laneq_s32(sum, s8(w[0]), x, 0);
    sum = vdotq_laneq_s32(sum, s8(w[1]), x, 1);
    sum = vdotq_laneq_s32(sum, s8(w[2]), x, 2);
    return vdotq_laneq_s32(sum, s8(w[3]), x, 3);
  }
  template <int kBits, int kQuads>
  static inline __attribute__((always_inline)) I dot(I sum, const I* w, const std::uint8_t* x) {
    if constexpr (kQuads == 1) return vdotq_s32(sum, s8(w[0]), s8(set1_i32(x)));
    sum = four_quads(sum, w, row(x));
    if constexpr (kQuads == 8) sum = four_quads(sum, w + 4, row(x + 16));
    return sum;
  }
};

}  // namespace
}  // namespace pc::simd

#include "simd/packed/packed-inl.h"

namespace pc::simd {

void matmul_packed_neon_dot(const PackedMatmulArgs& args) {
  matmul_packed(args);
}

}  // namespace pc::simd
