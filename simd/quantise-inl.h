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

#if HWY_TARGET != HWY_SCALAR  // whose vectors hold no quads: quantise_scalar serves

constexpr int kOfGroup = 32 / kN;  // vectors
constexpr int kOfHalf = 16 / kN;
constexpr std::size_t kAtOnce = 4;       // groups whose lanes are folded together
constexpr std::size_t kGroupsOfRow = 8;  // of a row before the tile's next: 1 KiB of x

// The magnitudes' bits: they order as magnitudes do, NaN above infinity.
HWY_INLINE VI magnitudes(const float* x) {
  return hn::BitCast(kI, hn::Abs(load_f32(x)));
}

HWY_INLINE float float_of(std::int32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// A group's offsets.
struct GroupOffsets {
  std::byte *codes, *note;
  std::size_t row;  // in its tile
};
HWY_INLINE GroupOffsets at(const GroupOffsets& offsets, std::size_t bytes) {
  return {offsets.codes + bytes, offsets.note + bytes, offsets.row};
}

// A note is written field by field or in whole vectors, never put together in memory and
// copied: a load of what several stores wrote waits until these, and all that were before them,
// are in the cache, and rows are written to lines that the other cores hold.
template <class T>
HWY_INLINE void put_field(T value, std::size_t offset, const GroupOffsets& to) {
  __builtin_memcpy(to.note + offset, &value, sizeof value);
}

// Codes of a group with the scale steps / 127. Those beyond 127, of one quad, are split.
HWY_INLINE void put_finer(const float* x, float steps, std::size_t quad, const GroupOffsets& to) {
  const hn::Rebind<std::int8_t, DF> d8;
  const VF inverse = hn::Set(kF, 127.0f / steps);
  const VI most = hn::Set(kI, 127), least = hn::Set(kI, -127);
  VI sums[2] = {hn::Zero(kI), hn::Zero(kI)};
  std::int8_t beyond[32];
  for (int v = 0; v < kOfGroup; ++v) {
    const VI rounded = hn::NearestInt(hn::Mul(load_f32(x + v * kN), inverse));
    const VI within = hn::Min(hn::Max(rounded, least), most);
    sums[v / kOfHalf] = hn::Add(sums[v / kOfHalf], rounded);
    hn::StoreU(hn::DemoteTo(d8, within), d8, reinterpret_cast<std::int8_t*>(to.codes) + v * kN);
    hn::StoreU(hn::DemoteTo(d8, hn::Sub(rounded, within)), d8, beyond + v * kN);
  }
  std::int32_t folded[4];
  fold_four<Sum>(sums[0], sums[1], sums[0], sums[1], folded);
  put_field(steps / 127.0f, offsetof(RowNote, scale), to);
  put_field(-folded[0] - folded[1], offsetof(RowNote, sum), to);
  put_field(-folded[0], offsetof(RowNote, first), to);
  put_field(-folded[1], offsetof(RowNote, second), to);
  __builtin_memcpy(to.note + offsetof(RowNote, beyond), beyond + 4 * quad, sizeof RowNote::beyond);
  put_field(static_cast<std::uint16_t>(quad), offsetof(RowNote, quad), to);
  put_field(std::uint16_t{0}, offsetof(RowNote, rows), to);
  note_finer_row(to.note, to.row);
}

// A group whose largest magnitude may have the code 254. A quad fills 128 bits.
HWY_INLINE void quantise_finer(const float* x, std::int32_t largest, const GroupOffsets& to) {
  const VI top = hn::Set(kI, largest);
  std::int32_t of_quad[32];
  VI rest = hn::Zero(kI);
  std::size_t quad = 8, ties = 0;
  for (int v = 0; v < kOfGroup; ++v) {
    VI m = magnitudes(x + v * kN);
    m = hn::Max(m, hn::Shuffle2301(m));
    m = hn::Max(m, hn::Shuffle1032(m));
    rest = hn::Max(rest, hn::IfThenZeroElse(hn::Eq(m, top), m));
    hn::StoreU(m, kI, of_quad + v * kN);
  }
  for (std::size_t q = 8; q-- > 0;) {
    const bool is_top = of_quad[4 * q] == largest;
    quad = is_top ? q : quad;
    ties += is_top;
  }
  const std::int32_t next = ties > 1 ? largest : hn::GetLane(hn::MaxOfLanes(kI, rest));
  const float half = float_of(largest) / 2, others = float_of(next);
  put_finer(x, others > half ? others : half, quad, to);
}

// Nothing but zeros, or something that is not finite.
void put_special(std::int32_t largest, const GroupOffsets& to) {
  const bool finite = float_of(largest) < __builtin_inff();
  __builtin_memset(to.codes, 0, 32);
  __builtin_memset(to.note, 0, sizeof(RowNote));
  put_field(finite ? 0.0f : __builtin_nanf(""), offsetof(RowNote, scale), to);
}

HWY_INLINE bool is_special(std::int32_t largest) {
  return !(float_of(largest) >= kQuantisedFloor && float_of(largest) < __builtin_inff());
}

// What is known of kAtOnce groups once their lanes are folded.
struct Folded {
  alignas(16) std::int32_t largest[kAtOnce];  // bits
  alignas(16) float inverse[kAtOnce], scale[kAtOnce];
  alignas(16) std::int32_t first[kAtOnce], second[kAtOnce];  // sums of codes
  alignas(16) std::int32_t energy[kAtOnce];                  // sums of their squares
  alignas(16) std::int32_t notes[kAtOnce][4];                // of ordinary groups: scale to second
};

// Scales and sums, by group.
HWY_INLINE void make_notes(Folded& of) {
  const hn::CappedTag<std::int32_t, 4> four;
  const auto scale = hn::BitCast(four, hn::Load(hn::CappedTag<float, 4>(), of.scale));
  const auto first = hn::Neg(hn::Load(four, of.first));
  const auto second = hn::Neg(hn::Load(four, of.second));
  const auto sum = hn::Add(first, second);
  const auto left = hn::InterleaveLower(four, scale, sum);  // of the first two groups
  const auto right = hn::InterleaveLower(four, first, second);
  hn::Store(hn::ConcatLowerLower(four, right, left), four, of.notes[0]);
  hn::Store(hn::ConcatUpperUpper(four, right, left), four, of.notes[1]);
  const auto left2 = hn::InterleaveUpper(four, scale, sum);
  const auto right2 = hn::InterleaveUpper(four, first, second);
  hn::Store(hn::ConcatLowerLower(four, right2, left2), four, of.notes[2]);
  hn::Store(hn::ConcatUpperUpper(four, right2, left2), four, of.notes[3]);
}

// x: the groups, kGroups neighbours; where they are fewer than kAtOnce, some twice.
template <std::size_t kGroups>
HWY_INLINE void find_scales(const float* x, Folded& of) {
  VI largest[kAtOnce];
  for (std::size_t g = 0; g < kAtOnce; ++g) {
    const float* group = x + 32 * (g % kGroups);
    largest[g] = magnitudes(group);
    for (int v = 1; v < kOfGroup; ++v) largest[g] = hn::Max(largest[g], magnitudes(group + v * kN));
  }
  fold_four<Largest>(largest[0], largest[1], largest[2], largest[3], of.largest);
  const hn::CappedTag<float, 4> four;
  const hn::RebindToSigned<decltype(four)> four_bits;
  const auto top = hn::BitCast(four, hn::Load(four_bits, of.largest));
  hn::Store(hn::Div(hn::Set(four, 127.0f), top), four, of.inverse);
  hn::Store(hn::Div(top, hn::Set(four, 127.0f)), four, of.scale);
}

template <std::size_t kGroups>
HWY_INLINE void round_groups(const float* x, std::byte* codes, std::size_t step, Folded& of) {
  const hn::Rebind<std::int8_t, DF> d8;
  VI sums[2][kAtOnce], energy[kAtOnce];
  for (std::size_t g = 0; g < kAtOnce; ++g) {
    auto* to = reinterpret_cast<std::int8_t*>(codes + step * (g % kGroups));
    const VF inverse = hn::Set(kF, of.inverse[g]);
    sums[0][g] = sums[1][g] = energy[g] = hn::Zero(kI);
    for (int v = 0; v < kOfGroup; ++v) {
      const VF scaled = hn::Mul(load_f32(x + 32 * (g % kGroups) + v * kN), inverse);
      const VI rounded = hn::NearestInt(scaled);
      sums[v / kOfHalf][g] = hn::Add(sums[v / kOfHalf][g], rounded);
      energy[g] = hn::Add(energy[g], hn::Mul(rounded, rounded));
      hn::StoreU(hn::DemoteTo(d8, rounded), d8, to + v * kN);
    }
  }
  fold_four<Sum>(sums[0][0], sums[0][1], sums[0][2], sums[0][3], of.first);
  fold_four<Sum>(sums[1][0], sums[1][1], sums[1][2], sums[1][3], of.second);
  fold_four<Sum>(energy[0], energy[1], energy[2], energy[3], of.energy);
}

// kGroups neighbours of one row, at most kAtOnce; `step` bytes from one to the next.
template <std::size_t kGroups>
HWY_INLINE void quantise_groups(const float* x, GroupOffsets to, std::size_t step) {
  Folded of;
  find_scales<kGroups>(x, of);
  round_groups<kGroups>(x, to.codes, step, of);
  make_notes(of);
  for (std::size_t g = 0; g < kGroups; ++g, to = at(to, step)) {
    if (HWY_UNLIKELY(is_special(of.largest[g]))) {
      put_special(of.largest[g], to);
    } else if (of.energy[g] < kFineEnough) {
      quantise_finer(x + 32 * g, of.largest[g], to);
    } else {
      __builtin_memcpy(to.note, of.notes[g], sizeof of.notes[g]);
      __builtin_memset(to.note + sizeof of.notes[g], 0, sizeof(RowNote) - sizeof of.notes[g]);
    }
  }
}

// Asks for what row i + 2 will read, or the last rows next, and for this row's share of the lines
// that its tile will write next. Rows are far apart, and the hardware sees no stream in a KiB of
// each: without this most of the time went by waiting for the cache of all cores.
HWY_INLINE void ask_ahead(const QuantiseArgs& a, std::size_t i, std::size_t begin,
                          const RowOffsets& offsets) {
  const std::size_t next = begin + kGroupsOfRow;
  if (next > a.group_end) return;  // the last groups are few
  const bool more = next + kGroupsOfRow <= a.group_end;
  const std::size_t row = i + 2 < a.row_end ? i + 2 : i;
  const float* x = a.x + row * a.k + 32 * (row == i && more ? next : begin);
  for (std::size_t c = 0; c < 32 * kGroupsOfRow; c += 16) __builtin_prefetch(x + c);
  if (!more) return;
  constexpr std::size_t kShare = kGroupsOfRow * kQuantisedGroupBytes;
  std::byte* share =
      a.dst + offsets.codes - 32 * offsets.row + next * offsets.step + kShare * offsets.row;
  for (std::size_t b = 0; b < kShare; b += 64) __builtin_prefetch(share + b, 1);
}

// All rows of a few groups, then of the next: rows of a tile share cache lines.
void quantise(const QuantiseArgs& a) {
  for (std::size_t begin = a.group_begin; begin < a.group_end; begin += kGroupsOfRow) {
    const std::size_t left = a.group_end - begin;
    const std::size_t n = left < kGroupsOfRow ? left : kGroupsOfRow;
    for (std::size_t i = a.row_begin; i < a.row_end; ++i) {
      const RowOffsets offsets = offsets_of_row(a.m, i, a.k);
      ask_ahead(a, i, begin, offsets);
      const float* x = a.x + i * a.k + 32 * begin;
      std::byte* groups = a.dst + begin * offsets.step;
      const GroupOffsets to{groups + offsets.codes, groups + offsets.note, offsets.row};
      std::size_t g = 0;
      for (; g + kAtOnce <= n; g += kAtOnce)
        quantise_groups<kAtOnce>(x + 32 * g, at(to, g * offsets.step), offsets.step);
      for (; g < n; ++g) quantise_groups<1>(x + 32 * g, at(to, g * offsets.step), offsets.step);
    }
  }
}
#endif

}  // namespace
}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
