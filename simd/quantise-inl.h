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

using D32 = hn::RebindToSigned<DF>;

// Codes of 16 columns, and the negated sum of them, which is returned.
template <class Scaled>
HWY_INLINE std::int32_t round16(const Scaled& scaled, std::byte* codes) {
  const hn::Rebind<std::int8_t, DF> d8;
  auto sums = hn::Zero(D32());
  for (std::size_t i = 0; i < 16; i += kN) {
    const auto rounded = hn::NearestInt(scaled(i));
    sums = hn::Sub(sums, rounded);
    hn::StoreU(hn::DemoteTo(d8, rounded), d8, reinterpret_cast<std::int8_t*>(codes + i));
  }
  return hn::GetLane(hn::SumOfLanes(D32(), sums));
}

// All 32 columns of a part.
template <class Scaled>
HWY_INLINE RowNote round32(const Scaled& scaled, float scale, std::byte* codes) {
  RowNote note{scale, 0, 0, 0, 0};
  note.first = round16(scaled, codes);
  note.second = round16([&](std::size_t i) { return scaled(16 + i); }, codes + 16);
  note.sum = note.first + note.second;
  return note;
}

// The sum of the squared codes: exact, integers below 2^24.
HWY_INLINE float energy32(const float* x, VF inverse) {
  VF energy = hn::Zero(kF);
  for (std::size_t i = 0; i < 32; i += kN) {
    const VF rounded = hn::Round(hn::Mul(load_f32(x + i), inverse));
    energy = hn::MulAdd(rounded, rounded, energy);
  }
  return hn::GetLane(hn::SumOfLanes(kF, energy));
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

// One group of one row, and its second part where it needs one.
HWY_INLINE void quantise32(const float* x, std::byte* codes, std::byte* notes,
                           std::size_t second_parts) {
  const float largest = magnitude32(x);
  const bool finite = largest < __builtin_inff();
  RowNote note{finite ? 0.0f : __builtin_nanf(""), 0, 0, 0, 0};
  if (finite && largest >= kQuantisedFloor) {
    const VF inverse = hn::Set(kF, 127.0f / largest);
    const auto scaled = [=](std::size_t i) { return hn::Mul(load_f32(x + i), inverse); };
    note = round32(scaled, largest / 127.0f, codes);
    if (energy32(x, inverse) < kFineEnough) {
      note.finer = 1;
      const auto left = [=](std::size_t i) {
        const VF v = scaled(i);
        return hn::Mul(hn::Sub(v, hn::Round(v)), hn::Set(kF, kFiner));
      };
      const RowNote second = round32(left, note.scale / kFiner, codes + second_parts);
      __builtin_memcpy(notes + second_parts, &second, sizeof second);
    }
  } else {
    __builtin_memset(codes, 0, 32);
  }
  __builtin_memcpy(notes, &note, sizeof note);
}

constexpr std::size_t kGroupsAtOnce = 8;

void quantise(const QuantiseArgs& a) {
  const std::size_t second_parts = first_parts_bytes(a.m, a.k);
  // All rows of a few groups, then of the next: rows of a tile share cache lines.
  for (std::size_t first = a.group_begin; first < a.group_end; first += kGroupsAtOnce) {
    const std::size_t end =
        a.group_end - first < kGroupsAtOnce ? a.group_end : first + kGroupsAtOnce;
    for (std::size_t i = a.row_begin; i < a.row_end; ++i) {
      const RowPlace place = place_of_row(a.m, i, a.k);
      for (std::size_t g = first; g < end; ++g)
        quantise32(a.x + i * a.k + 32 * g, a.dst + place.codes + g * place.step,
                   a.dst + place.notes + g * place.step, second_parts);
    }
  }
}

}  // namespace
}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
