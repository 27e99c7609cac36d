// Packed products for any 64-bit Arm CPU: smlal adds products of bytes in 16
// bits, sadalp pairs of them in 32. None of the sums in 16 bits overflows:
//   4 bits: 8 products of at most 15 * 127, 15240;
//   6 bits: 4 products of at most 63 * 127, 32004;
//   8 bits: 2 products of at most 128 * 127, 32512: x is never -128.
// All but the entry has internal linkage.

#include "simd/packed/packed.h"
#include "simd/packed/packed_neon-inl.h"
#include "simd/packed_kernels.h"
#include "simd/quantised_rows.h"

namespace pc::simd {
namespace {

struct Isa : Neon {
  template <int kBits, int kQuads>
  static inline __attribute__((always_inline)) I dot(I sum, const I* w, const std::uint8_t* x) {
    constexpr int kFit = kBits == 4 ? 8 : kBits == 6 ? 4 : 2;  // summed in 16 bits
    constexpr int kAtOnce = kFit < kQuads ? kFit : kQuads;
    I low = izero(), high = izero();  // rows 0, 1 and 2, 3, twice
#pragma GCC unroll 8
    for (int q = 0; q < kQuads; q += kAtOnce) {
      int16x8_t low16 = vdupq_n_s16(0), high16 = vdupq_n_s16(0);
#pragma GCC unroll 8
      for (int i = q; i < q + kAtOnce; ++i) {
        const int8x16_t quad = s8(set1_i32(x + 4 * i));
        low16 = vmlal_s8(low16, vget_low_s8(s8(w[i])), vget_low_s8(quad));
        high16 = vmlal_high_s8(high16, s8(w[i]), quad);
      }
      low = vpadalq_s16(low, low16);
      high = vpadalq_s16(high, high16);
    }
    return vaddq_s32(sum, vpaddq_s32(low, high));
  }
};

}  // namespace
}  // namespace pc::simd

#include "simd/packed/packed-inl.h"

namespace pc::simd {

void matmul_packed_neon(const PackedMatmulArgs& args) {
  matmul_packed(args);
}

}  // namespace pc::simd
