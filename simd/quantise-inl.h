// A row of activations to 8 bits (simd/quantised_rows.h).
// Per target: included again for each instruction set (see hwy_kernels.cc).
#if defined(PROMPTCACHE_SIMD_QUANTISE_) == defined(HWY_TARGET_TOGGLE)
#ifdef PROMPTCACHE_SIMD_QUANTISE_
#undef PROMPTCACHE_SIMD_QUANTISE_
#else
#define PROMPTCACHE_SIMD_QUANTISE_
#endif

#include <hwy/highway.h>

#include "simd/elements-inl.h"
#include "simd/kernels.h"
#include "simd/quantised_rows.h"

HWY_BEFORE_NAMESPACE();
namespace pc::simd::HWY_NAMESPACE {
namespace {

// Codes of 16 columns; the negated sum of them.
HWY_INLINE std::int32_t quantise16(const float* x, VF inverse, std::int8_t* codes) {
  const hn::RebindToSigned<DF> d32;
  auto sums = hn::Zero(d32);
  for (std::size_t i = 0; i < 16; i += kN) {
    const auto rounded = hn::NearestInt(hn::Mul(load_f32(x + i), inverse));
    sums = hn::Sub(sums, rounded);
    const hn::Rebind<std::int8_t, DF> d8;
    hn::StoreU(hn::DemoteTo(d8, rounded), d8, codes + i);
  }
  return hn::GetLane(hn::SumOfLanes(d32, sums));
}

// The largest magnitude's bits: they order as the magnitudes do, NaN above infinity.
HWY_INLINE float magnitude32(const float* x) {
  const hn::RebindToSigned<DF> d32;
  auto largest = hn::Zero(d32);
  for (std::size_t i = 0; i < 32; i += kN)
    largest = hn::Max(largest, hn::BitCast(d32, hn::Abs(load_f32(x + i))));
  const std::int32_t bits = hn::GetLane(hn::MaxOfLanes(d32, largest));
  float magnitude;
  __builtin_memcpy(&magnitude, &bits, sizeof magnitude);
  return magnitude;
}

void quantise_row(const QuantiseArgs& a) {
  const RowPlace place = place_of_row(a.m, a.row, a.k);
  std::byte* codes = a.dst + place.codes;
  std::byte* notes = a.dst + place.notes;
  for (std::size_t c = 0; c < a.k; c += 32, codes += place.step, notes += place.step) {
    const float largest = magnitude32(a.x + c);
    const bool finite = largest < __builtin_inff();
    RowNote note{finite ? 0.0f : __builtin_nanf(""), 0, 0, 0};
    if (finite && largest >= kQuantisedFloor) {
      auto* out = reinterpret_cast<std::int8_t*>(codes);
      const VF inverse = hn::Set(kF, 127.0f / largest);
      note.scale = largest / 127.0f;
      note.first = quantise16(a.x + c, inverse, out);
      note.second = quantise16(a.x + c + 16, inverse, out + 16);
      note.sum = note.first + note.second;
    } else {
      __builtin_memset(codes, 0, 32);
    }
    __builtin_memcpy(notes, &note, sizeof note);
  }
}

}  // namespace
}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
