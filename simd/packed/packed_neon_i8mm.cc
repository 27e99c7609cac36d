// Packed products for Arm CPUs with smmla (FEAT_I8MM: Neoverse V1 and N2, Cortex-A510,
// A710 and X2, Apple M2 and later): 8 columns of two rows of x times 8 columns of two
// rows of weights, 32 products an instruction, exactly. A single row would leave
// half of them unused and goes to sdot, which all these CPUs have.
// Compiled with its instruction set; all but the entry has internal linkage.

#include "simd/packed/packed.h"
#include "simd/packed/packed_neon-inl.h"
#include "simd/packed_kernels.h"
#include "simd/quantised_rows.h"

namespace pc::simd {
namespace {

int32x4_t first_halves(int32x4_t a, int32x4_t b) {
  return vreinterpretq_s32_s64(vzip1q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)));
}
int32x4_t second_halves(int32x4_t a, int32x4_t b) {
  return vreinterpretq_s32_s64(vzip2q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)));
}

struct Isa : Neon {
  // Vectors 2j, 2j + 1: columns 8j..8j+7 of rows 0 and 1, of rows 2 and 3.
  static inline __attribute__((always_inline)) void pair_columns(I* w) {
#pragma GCC unroll 4
    for (int j = 0; j < 8; j += 2) {
      const I first = vzip1q_s32(w[j], w[j + 1]);
      w[j + 1] = vzip2q_s32(w[j], w[j + 1]);
      w[j] = first;
    }
  }

  struct Products {  // of two rows of x with rows 0 and 1, and with rows 2 and 3
    I low = izero(), high = izero();
  };
  static inline __attribute__((always_inline)) void multiply(Products& p, const I* w, I x) {
    p.low = vmmlaq_s32(p.low, s8(x), s8(w[0]));
    p.high = vmmlaq_s32(p.high, s8(x), s8(w[1]));
  }

  // Rows of x are 32 bytes apart.
  template <int kQuads>
  static inline __attribute__((always_inline)) void dot_pair(I& sum, I& next, const I* w,
                                                             const std::uint8_t* x) {
    Products products;
#pragma GCC unroll 2
    for (int q = 0; q < kQuads; q += 4) {
      const I a = load(x + 4 * q), b = load(x + 32 + 4 * q);
      multiply(products, w + q, first_halves(a, b));
      multiply(products, w + q + 2, second_halves(a, b));
    }
    sum = vaddq_s32(sum, first_halves(products.low, products.high));
    next = vaddq_s32(next, second_halves(products.low, products.high));
  }

  template <int kBits, int kQuads>
  static inline __attribute__((always_inline)) I dot(I sum, const I* w, const std::uint8_t* x) {
    if constexpr (kQuads == 1) return vdotq_s32(sum, s8(w[0]), s8(set1_i32(x)));
    Products products;
#pragma GCC unroll 2
    for (int q = 0; q < kQuads; q += 4) {
      const I a = load(x + 4 * q);
      multiply(products, w + q, first_halves(a, a));
      multiply(products, w + q + 2, second_halves(a, a));
    }
    return vaddq_s32(sum, first_halves(products.low, products.high));
  }
};

}  // namespace
}  // namespace pc::simd

#include "simd/packed/packed-inl.h"

namespace pc::simd {

void matmul_packed_neon_i8mm(const PackedMatmulArgs& args) {
  if (args.m == 1) return matmul_packed_neon_dot(args);
  matmul_packed(args);
}

}  // namespace pc::simd
