#include "tests/simd/attend_stand_in.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/simd/attend_stand_in.cc"
// As in simd/hwy_kernels.cc: no vectors that arrays cannot hold, no AES on Arm.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#if defined(__aarch64__)
#define HWY_COMPILE_ONLY_STATIC
#endif
// foreach_target.h comes first.
// clang-format off
#include <hwy/foreach_target.h>

#include <hwy/highway.h>
// clang-format on

#include "simd/attend-inl.h"
#include "simd/attend_tiles-inl.h"
#include "tests/simd/amx_stand_in.h"

HWY_BEFORE_NAMESPACE();
namespace pc::simd::HWY_NAMESPACE {
namespace {

struct DotOfParts {
  static HWY_INLINE VF add(VF sum, VU a, VU b) {
    const VU high = hn::Set(kU, 0xffff0000u);
    sum = hn::MulAdd(hn::BitCast(kF, hn::ShiftLeft<16>(a)), hn::BitCast(kF, hn::ShiftLeft<16>(b)),
                     sum);
    return hn::MulAdd(hn::BitCast(kF, hn::And(a, high)), hn::BitCast(kF, hn::And(b, high)), sum);
  }
  static HWY_INLINE V16 round(VF x) {
    const VU bits = hn::BitCast(kU, x), odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(kU, 1u));
    const VU numbers = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(kU, 0x7fffu))));
    const VU rounded =
        hn::IfThenElse(hn::RebindMask(kU, hn::IsNaN(x)), hn::Set(kU, 0x7fc0u), numbers);
    return hn::DemoteTo(k16, hn::BitCast(hn::RebindToSigned<DU>(), rounded));
  }
};

template <bool kSignedBytes>
struct DotOfBytes {
  static constexpr bool kSigned = kSignedBytes;
  template <int kShift>
  static HWY_INLINE VI byte(VU quad, bool is_signed) {
    const VU up = hn::ShiftLeft<kShift>(quad);
    return is_signed ? hn::ShiftRight<24>(hn::BitCast(kI, up))
                     : hn::BitCast(kI, hn::ShiftRight<24>(up));
  }
  static HWY_INLINE VI keys(VI sum, VU a, VU b) {
    sum = hn::Add(sum, hn::Mul(byte<0>(a, kSigned), byte<0>(b, true)));
    sum = hn::Add(sum, hn::Mul(byte<8>(a, kSigned), byte<8>(b, true)));
    sum = hn::Add(sum, hn::Mul(byte<16>(a, kSigned), byte<16>(b, true)));
    return hn::Add(sum, hn::Mul(byte<24>(a, kSigned), byte<24>(b, true)));
  }
  static HWY_INLINE VI values(VI sum, VU a, VU b) { return keys(sum, a, b); }
};

#if HWY_TARGET == HWY_SCALAR  // vectors of one hold no pairs
constexpr std::size_t kDotLanes = 0;
void attend_parts(const AttendArgs& a) {
  attend(a);
}
void attend_signed_parts(const AttendArgs& a) {
  attend(a);
}
void attend_tiled_parts(const AttendArgs& a) {
  attend(a);
}
#else
constexpr std::size_t kDotLanes = kN;
void attend_parts(const AttendArgs& a) {
  if (!attend_pairs<DotOfParts>(a) && !attend_quads<DotOfBytes<false> >(a)) attend(a);
}
void attend_signed_parts(const AttendArgs& a) {
  if (!attend_quads<DotOfBytes<true> >(a)) attend(a);
}
void attend_tiled_parts(const AttendArgs& a) {
  if (!attend_tiles<stand_in::Tiles, DotOfParts>(a)) attend(a);
}
#endif

void exp_all(const float* x, std::size_t n, float* y) {
  for (std::size_t i = 0; i < n; i += kN) hn::StoreU(exp_negative(load_f32(x + i)), kF, y + i);
}

void exp_coarse_all(const float* x, std::size_t n, float* y) {
  for (std::size_t i = 0; i < n; i += kN) hn::StoreU(exp_coarse(load_f32(x + i)), kF, y + i);
}

}  // namespace

const AttendStandIn* attend_stand_in() {
  static const AttendStandIn kStandIn = {
      hwy::TargetName(HWY_TARGET), kDotLanes, attend_parts, attend_signed_parts,
      attend_tiled_parts,          attend,    exp_all,      exp_coarse_all};
  return &kStandIn;
}

}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pc::simd {

HWY_EXPORT(attend_stand_in);

std::vector<AttendStandIn> attend_stand_ins() {
  std::vector<AttendStandIn> all;
  for (std::int64_t targets = (hwy::SupportedTargets() | HWY_STATIC_TARGET) & HWY_TARGETS;
       targets != 0; targets &= targets - 1) {
    hwy::SetSupportedTargetsForTest(targets & -targets);
    hwy::GetChosenTarget().Update(targets & -targets);
    all.push_back(*HWY_DYNAMIC_DISPATCH(attend_stand_in)());
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return all;
}

}  // namespace pc::simd
#endif
