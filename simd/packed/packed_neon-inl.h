// NEON for packed products: what the variants share. Each including file adds
// the dot product of its instructions and is compiled with them. 64-bit Arm only.
//
// A vector holds 4 rows of a panel, 4 columns each. Codes have at most 6 bits, or
// 8 with their zero taken off: signed bytes serve all of them.

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace pc::simd {
namespace {

struct Neon {
  using I = int32x4_t;
  using F = float32x4_t;
  static constexpr std::size_t kLanes = 4;
  static constexpr std::size_t kRows = 8;  // 8 sums + 8 vectors of codes + x + scales: 32 registers
  static constexpr bool kSignedBytes = true;

  static int8x16_t s8(I v) { return vreinterpretq_s8_s32(v); }
  static uint8x16_t u8(I v) { return vreinterpretq_u8_s32(v); }
  static I from(uint8x16_t v) { return vreinterpretq_s32_u8(v); }

  static I load(const std::uint8_t* p) { return from(vld1q_u8(p)); }
  static I bytes(const std::uint8_t* p) { return from(veorq_u8(vld1q_u8(p), vdupq_n_u8(128))); }
  static I low4(I v) { return from(vandq_u8(u8(v), vdupq_n_u8(15))); }
  static I high4(I v) { return from(vshrq_n_u8(u8(v), 4)); }
  template <int kN>
  static I left(I v) {
    return from(vshlq_n_u8(u8(v), kN));
  }
  template <int kN>
  static I right(I v) {
    return from(vshrq_n_u8(u8(v), kN));
  }
  static int8x16_t table(const std::int8_t* numbers) { return vld1q_s8(numbers); }
  static I look_up(int8x16_t numbers, I codes) {
    return vreinterpretq_s32_s8(vqtbl1q_s8(numbers, u8(codes)));
  }
  static I or_bits45(I low, I high) {
    return from(vorrq_u8(u8(low), vandq_u8(u8(high), vdupq_n_u8(0x30))));
  }

  static I izero() { return vdupq_n_s32(0); }
  static I set1_i32(const std::uint8_t* p) {
    std::int32_t value;
    __builtin_memcpy(&value, p, sizeof value);
    return vdupq_n_s32(value);
  }
  template <int kN>
  static I left32(I v) {
    return vshlq_n_s32(v, kN);
  }
  static int8x16_t row(const std::uint8_t* x) { return vreinterpretq_s8_u8(vld1q_u8(x)); }

  static F zero() { return vdupq_n_f32(0.0f); }
  static F to_f(I v) { return vcvtq_f32_s32(v); }
  static F set1_f32(const std::uint8_t* p) { return vreinterpretq_f32_s32(set1_i32(p)); }
  static F add(F a, F b) { return vaddq_f32(a, b); }
  static F mul(F a, F b) { return vmulq_f32(a, b); }
  static F fma(F a, F b, F c) { return vfmaq_f32(c, a, b); }
  static F fnma(F a, F b, F c) { return vfmsq_f32(c, a, b); }
  static F f16(const std::uint8_t* p) { return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p))); }
  static F half_e8m0(const std::uint8_t* p) {  // bits of 0 make half of what 1 makes
    std::uint32_t four;
    __builtin_memcpy(&four, p, sizeof four);
    const uint16x8_t wide = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(four)));
    const uint32x4_t twice =
        vmaxq_u32(vshlq_n_u32(vmovl_u16(vget_low_u16(wide)), 23), vdupq_n_u32(0x00400000));
    return mul(vreinterpretq_f32_u32(twice), vdupq_n_f32(0.5f));
  }
  static F i8(const std::uint8_t* p) {
    std::uint32_t four;
    __builtin_memcpy(&four, p, sizeof four);
    const int16x8_t wide = vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four)));
    return to_f(vmovl_s16(vget_low_s16(wide)));
  }

  static F load_f32(const float* p, std::size_t n) {
    if (n >= kLanes) return vld1q_f32(p);
    float padded[kLanes] = {};
    __builtin_memcpy(padded, p, n * sizeof(float));
    return vld1q_f32(padded);
  }
  static void store(float* p, F v, std::size_t n) {
    if (n >= kLanes) return vst1q_f32(p, v);
    float padded[kLanes];
    vst1q_f32(padded, v);
    __builtin_memcpy(p, padded, n * sizeof(float));
  }

  // A panel is read 4 rows at a time, in one rising order: the CPU sees it coming.
  template <std::size_t kBytes>
  static void prefetch(const std::uint8_t*) {}
};

}  // namespace
}  // namespace pc::simd
