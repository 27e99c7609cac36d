// What is put back into the scores of keys whose blocks have lost a centre
// (runtime/cpu/states/key_centres.h, docs/adr/0050-keys-without-outliers.md): a product of as many
// numbers as a key has, once for a block of 16 tokens.
// Per target: included again for each instruction set (see hwy_kernels.cc).
#if defined(PROMPTCACHE_SIMD_ATTEND_CENTRES_) == defined(HWY_TARGET_TOGGLE)
#ifdef PROMPTCACHE_SIMD_ATTEND_CENTRES_
#undef PROMPTCACHE_SIMD_ATTEND_CENTRES_
#else
#define PROMPTCACHE_SIMD_ATTEND_CENTRES_
#endif

#include "simd/attend_multiply-inl.h"
#include "simd/elements-inl.h"
#include "simd/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace pc::simd::HWY_NAMESPACE {
namespace {

// What keys have lost, for the n blocks from `block` on: AttendArgs::sway.
template <std::size_t kR>
HWY_INLINE void add_centres(const AttendArgs& a, std::size_t row, std::size_t block, std::size_t n,
                            float (*scores)[kChunk]) {
  for (std::size_t b = 0; b < n; b += kN) {
    const float *sway = a.sway + row * a.head_dim, *wave = a.waves + block + b;
    VF sum[kR];
    for (std::size_t r = 0; r < kR; ++r) sum[r] = hn::Zero(kF);
    for (std::size_t d = 0; d < a.head_dim; ++d, ++sway, wave += a.wave_stride) {
      const VF w = load_f32(wave);
      for (std::size_t r = 0; r < kR; ++r)
        sum[r] = hn::MulAdd(hn::Set(kF, sway[r * a.head_dim]), w, sum[r]);
    }
    alignas(64) float blocks[kN];
    for (std::size_t r = 0; r < kR; ++r) {
      hn::StoreU(sum[r], kF, blocks);
      for (std::size_t i = 0; i < kN && b + i < n; ++i) {
        const VF of_block = hn::Set(kF, blocks[i]);
        for (std::size_t t = (b + i) * kBlock; t < (b + i + 1) * kBlock; t += kN)
          hn::StoreU(hn::Add(load_f32(scores[r] + t), of_block), kF, scores[r] + t);
      }
    }
  }
}

}  // namespace
}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
