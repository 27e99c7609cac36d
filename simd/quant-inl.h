// Stored weights of all types: widened to f32, and asked whether they are finite.
// Per target: included again for each instruction set (see hwy_kernels.cc).
//
// Widening is equal bit for bit on every instruction set, with or without fused
// multiply-add, because each element is rounded at most once: a scale has 11
// significant bits and the integers it is multiplied with have together at
// most 12, so their product is exact in f32, and so is a minimum; only their
// sum rounds. (Integers are centred before they become floats: a difference of
// products would lose the sign of zero.)
//
// The bits of each type: simd/scalar_quant.cc; those that simd/blocks/block_codes.h takes apart
// are widened from integers, whatever the type.
#if defined(PROMPTCACHE_SIMD_QUANT_) == defined(HWY_TARGET_TOGGLE)
#ifdef PROMPTCACHE_SIMD_QUANT_
#undef PROMPTCACHE_SIMD_QUANT_
#else
#define PROMPTCACHE_SIMD_QUANT_
#endif

#include <hwy/highway.h>

#include "simd/blocks/block_codes.h"
#include "simd/elements-inl.h"
#include "simd/kernels.h"
#include "simd/scalar_quant.h"

HWY_BEFORE_NAMESPACE();
namespace pc::simd::HWY_NAMESPACE {
namespace {

using Bytes = const std::uint8_t*;

// kN bytes, one in each lane of 32 bits.
HWY_INLINE VI load_u8(Bytes p) {
  return hn::PromoteTo(kI, hn::LoadU(hn::Rebind<std::uint8_t, DI>(), p));
}
HWY_INLINE VI load_i8(Bytes p) {
  const hn::Rebind<std::int8_t, DI> d8;
  return hn::PromoteTo(kI, hn::LoadU(d8, reinterpret_cast<const std::int8_t*>(p)));
}
template <class V>
HWY_INLINE V low_bits(V v, int mask) {
  return hn::And(v, hn::Set(hn::DFromV<V>(), mask));
}
template <class V>
HWY_INLINE V centred(V v, int middle) {
  return hn::Sub(v, hn::Set(hn::DFromV<V>(), middle));
}

// In every lane, or once.
HWY_INLINE VF scale_lanes(Bytes p) {
  const hn::Rebind<std::uint16_t, DF> d16;
  std::uint16_t half;
  __builtin_memcpy(&half, p, 2);
  return widen_f16(hn::Set(d16, half));
}
HWY_INLINE float scale_of(Bytes p) {
  return hn::GetLane(scale_lanes(p));
}

// dst = scale * q (+ minimum)
HWY_INLINE void put(VI q, VF scale, float* dst) {
  hn::StoreU(hn::Mul(scale, hn::ConvertTo(kF, q)), kF, dst);
}
HWY_INLINE void put(VI q, VF scale, VF minimum, float* dst) {
  hn::StoreU(hn::MulAdd(scale, hn::ConvertTo(kF, q), minimum), kF, dst);
}

// A block type says its shape and widens one block.

struct Q8_0 {
  static HWY_INLINE void widen(Bytes b, float* dst) {
    const VF scale = scale_lanes(b);
    for (std::size_t i = 0; i < 32; i += kN) put(load_i8(b + 2 + i), scale, dst + i);
  }
};

struct Q4_0 {
  static HWY_INLINE void widen(Bytes b, float* dst) {
    const VF scale = scale_lanes(b);
    for (std::size_t i = 0; i < 16; i += kN) {
      const VI q = load_u8(b + 2 + i);
      put(centred(low_bits(q, 15), 8), scale, dst + i);
      put(centred(hn::ShiftRight<4>(q), 8), scale, dst + 16 + i);
    }
  }
};

struct Q4_1 {
  static HWY_INLINE void widen(Bytes b, float* dst) {
    const VF scale = scale_lanes(b), minimum = scale_lanes(b + 2);
    for (std::size_t i = 0; i < 16; i += kN) {
      const VI q = load_u8(b + 4 + i);
      put(low_bits(q, 15), scale, minimum, dst + i);
      put(hn::ShiftRight<4>(q), scale, minimum, dst + 16 + i);
    }
  }
};

// 16 in the lanes whose bit of `bits`, counted from `first`, is set.
HWY_INLINE VI fifth_bits(VI bits, std::size_t first) {
  alignas(64) static constexpr std::int32_t kMasks[32] = {
      1 << 0,  1 << 1,  1 << 2,  1 << 3,  1 << 4,  1 << 5,  1 << 6,  1 << 7,
      1 << 8,  1 << 9,  1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15,
      1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22, 1 << 23,
      1 << 24, 1 << 25, 1 << 26, 1 << 27, 1 << 28, 1 << 29, 1 << 30, INT32_MIN};
  const auto set = hn::TestBit(bits, hn::Load(kI, kMasks + first));
  return hn::IfThenElseZero(set, hn::Set(kI, 16));
}
HWY_INLINE VI all_lanes(Bytes p) {
  std::int32_t bits;
  __builtin_memcpy(&bits, p, 4);
  return hn::Set(kI, bits);
}

struct Q5_0 {
  static HWY_INLINE void widen(Bytes b, float* dst) {
    const VF scale = scale_lanes(b);
    const VI high = all_lanes(b + 2);
    for (std::size_t i = 0; i < 16; i += kN) {
      const VI q = load_u8(b + 6 + i);
      put(centred(hn::Or(low_bits(q, 15), fifth_bits(high, i)), 16), scale, dst + i);
      put(centred(hn::Or(hn::ShiftRight<4>(q), fifth_bits(high, 16 + i)), 16), scale, dst + 16 + i);
    }
  }
};

struct Q5_1 {
  static HWY_INLINE void widen(Bytes b, float* dst) {
    const VF scale = scale_lanes(b), minimum = scale_lanes(b + 2);
    const VI high = all_lanes(b + 4);
    for (std::size_t i = 0; i < 16; i += kN) {
      const VI q = load_u8(b + 8 + i);
      put(hn::Or(low_bits(q, 15), fifth_bits(high, i)), scale, minimum, dst + i);
      put(hn::Or(hn::ShiftRight<4>(q), fifth_bits(high, 16 + i)), scale, minimum, dst + 16 + i);
    }
  }
};

// Four bytes as integers: what 6-bit scales are packed in.
using D4 = hn::CappedTag<float, 4>;
using DI4 = hn::RebindToSigned<D4>;
using VI4 = hn::Vec<DI4>;
constexpr std::size_t kN4 = hn::MaxLanes(D4());

HWY_INLINE VI4 load4(Bytes p) {
  const DI4 d;
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, DI4>(), p));
}

// The scales of a block of 256, as floats. kN <= 16 divides each group of 16
// elements, so that a vector of elements has one scale.
struct Scales {
  alignas(64) float of[16];

  HWY_INLINE VF operator[](std::size_t group) const { return hn::Set(kF, of[group]); }
  HWY_INLINE void put(std::size_t i, VI scales, VF factor) {
    hn::Store(hn::Mul(factor, hn::ConvertTo(kF, scales)), kF, of + i);
  }
  HWY_INLINE void put4(std::size_t i, VI4 scales, float factor) {
    const D4 d;
    hn::Store(hn::Mul(hn::Set(d, factor), hn::ConvertTo(d, scales)), d, of + i);
  }
};

struct Q2_K {
  static HWY_INLINE void widen(Bytes b, float* dst) {
    const VF d = scale_lanes(b + 80), d_min = hn::Neg(scale_lanes(b + 82));
    Scales scale, minimum;
    for (std::size_t i = 0; i < 16; i += kN) {
      const VI s = load_u8(b + i);
      scale.put(i, low_bits(s, 15), d);
      minimum.put(i, hn::ShiftRight<4>(s), d_min);
    }
    for (std::size_t half = 0; half < 2; ++half) {
      for (std::size_t i = 0; i < 32; i += kN) {
        VI q = load_u8(b + 16 + 32 * half + i);
        for (std::size_t group = 4 * half; group < 4 * half + 4; ++group) {
          const std::size_t s = 2 * group + i / 16;
          put(low_bits(q, 3), scale[s], minimum[s], dst + 32 * group + i);
          q = hn::ShiftRight<2>(q);
        }
      }
    }
  }
};

struct Q3_K {
  static HWY_INLINE void widen(Bytes b, float* dst) {
    const float d = scale_of(b + 108);
    Scales scale;
    for (std::size_t i = 0; i < 4; i += kN4) {
      const VI4 low0 = load4(b + 96 + i), low1 = load4(b + 100 + i), high = load4(b + 104 + i);
      const VI4 s[4] = {hn::Or(low_bits(low0, 15), low_bits(hn::ShiftLeft<4>(high), 48)),
                        hn::Or(low_bits(low1, 15), low_bits(hn::ShiftLeft<2>(high), 48)),
                        hn::Or(hn::ShiftRight<4>(low0), low_bits(high, 48)),
                        hn::Or(hn::ShiftRight<4>(low1), low_bits(hn::ShiftRight<2>(high), 48))};
      for (std::size_t four = 0; four < 4; ++four)
        scale.put4(4 * four + i, centred(s[four], 32), d);
    }

    for (std::size_t i = 0; i < 32; i += kN) {
      VI plus4 = hn::ShiftLeft<2>(load_u8(b + i));  // bit 2: not 4 less
      for (std::size_t half = 0; half < 2; ++half) {
        VI q = load_u8(b + 32 + 32 * half + i);
        for (std::size_t group = 4 * half; group < 4 * half + 4; ++group) {
          const VI value = centred(hn::Or(low_bits(q, 3), low_bits(plus4, 4)), 4);
          put(value, scale[2 * group + i / 16], dst + 32 * group + i);
          q = hn::ShiftRight<2>(q);
          plus4 = hn::ShiftRight<1>(plus4);
        }
      }
    }
  }
};

// Scales and minima of the 8 groups of Q4_K and Q5_K.
struct ScalesAndMinima {
  Scales scale, minimum;

  HWY_INLINE explicit ScalesAndMinima(Bytes b) {
    const float d = scale_of(b), d_min = -scale_of(b + 2);
    for (std::size_t i = 0; i < 4; i += kN4) {
      const VI4 first = load4(b + 4 + i), second = load4(b + 8 + i), rest = load4(b + 12 + i);
      scale.put4(i, low_bits(first, 63), d);
      minimum.put4(i, low_bits(second, 63), d_min);
      scale.put4(4 + i, hn::Or(low_bits(rest, 15), low_bits(hn::ShiftRight<2>(first), 48)), d);
      minimum.put4(4 + i, hn::Or(hn::ShiftRight<4>(rest), low_bits(hn::ShiftRight<2>(second), 48)),
                   d_min);
    }
  }
};

struct Q4_K {
  static HWY_INLINE void widen(Bytes b, float* dst) {
    const ScalesAndMinima s(b);
    for (std::size_t group = 0; group < 8; group += 2) {
      for (std::size_t i = 0; i < 32; i += kN) {
        const VI q = load_u8(b + 16 + 16 * group + i);
        float* out = dst + 32 * group + i;
        put(low_bits(q, 15), s.scale[group], s.minimum[group], out);
        put(hn::ShiftRight<4>(q), s.scale[group + 1], s.minimum[group + 1], out + 32);
      }
    }
  }
};

struct Q5_K {
  static HWY_INLINE void widen(Bytes b, float* dst) {
    const ScalesAndMinima s(b);
    for (std::size_t i = 0; i < 32; i += kN) {
      VI high = hn::ShiftLeft<4>(load_u8(b + 16 + i));  // group by group, at bit 4
      for (std::size_t group = 0; group < 8; group += 2) {
        const VI q = load_u8(b + 48 + 16 * group + i);
        float* out = dst + 32 * group + i;
        put(hn::Or(low_bits(q, 15), low_bits(high, 16)), s.scale[group], s.minimum[group], out);
        high = hn::ShiftRight<1>(high);
        put(hn::Or(hn::ShiftRight<4>(q), low_bits(high, 16)), s.scale[group + 1],
            s.minimum[group + 1], out + 32);
        high = hn::ShiftRight<1>(high);
      }
    }
  }
};

struct Q6_K {
  static HWY_INLINE void widen(Bytes b, float* dst) {
    const VF d = scale_lanes(b + 208);
    Scales scale;
    for (std::size_t i = 0; i < 16; i += kN) scale.put(i, load_i8(b + 192 + i), d);
    for (std::size_t half = 0; half < 2; ++half) {
      for (std::size_t i = 0; i < 32; i += kN) {
        const VI low0 = load_u8(b + 64 * half + i), low1 = load_u8(b + 64 * half + 32 + i);
        const VI high = load_u8(b + 128 + 32 * half + i);
        const VI q[4] = {
            hn::Or(low_bits(low0, 15), low_bits(hn::ShiftLeft<4>(high), 48)),
            hn::Or(low_bits(low1, 15), low_bits(hn::ShiftLeft<2>(high), 48)),
            hn::Or(hn::ShiftRight<4>(low0), low_bits(high, 48)),
            hn::Or(hn::ShiftRight<4>(low1), low_bits(hn::ShiftRight<2>(high), 48)),
        };
        for (std::size_t g = 0; g < 4; ++g)
          put(centred(q[g], 32), scale[8 * half + 2 * g + i / 16], dst + 128 * half + 32 * g + i);
      }
    }
  }
};

template <class Q, Type kType>
HWY_INLINE void widen_blocks(const void* src, std::size_t n, float* dst) {
  constexpr TypeShape kShape = shape_of(kType);
  auto b = static_cast<Bytes>(src);
  for (std::size_t i = 0; i < n; i += kShape.elements, b += kShape.bytes) Q::widen(b, dst + i);
}

void widen_coded(const void* src, Type type, std::size_t n, float* dst) {
  const TypeShape& shape = shape_of(type);
  auto b = static_cast<Bytes>(src);
  BlockCodes codes;
  for (std::size_t end = 0; end < n; b += shape.bytes) {
    unpack_block(type, b, codes);
    const VF scale = hn::Set(kF, codes.scale);
    for (std::size_t i = 0; i < shape.elements; i += kN, dst += kN) {
      const VF factor = hn::Set(kF, codes.factors[i / 16]);
      put(load_i8(reinterpret_cast<Bytes>(codes.codes + i)), hn::Mul(scale, factor), dst);
    }
    end += shape.elements;
  }
}

template <class E>
HWY_INLINE void widen(const void* src, std::size_t n, float* dst) {
  const auto* s = static_cast<const typename E::T*>(src);
  std::size_t i = 0;
  for (; i + kN <= n; i += kN) hn::StoreU(E::load(s + i), kF, dst + i);
  if (const std::size_t rest = n - i; rest != 0) {
    alignas(64) float padded[kN];
    hn::Store(load_tail<E>(s + i, rest), kF, padded);
    for (std::size_t j = 0; j < rest; ++j) dst[i + j] = padded[j];
  }
}

void to_f32(const void* src, Type type, std::size_t n, float* dst) {
  switch (type) {
    case Type::kF32:
      return widen<F32>(src, n, dst);
    case Type::kF16:
      return widen<F16>(src, n, dst);
    case Type::kBf16:
      return widen<Bf16>(src, n, dst);
    case Type::kQ8_0:
      return widen_blocks<Q8_0, Type::kQ8_0>(src, n, dst);
    case Type::kQ4_0:
      return widen_blocks<Q4_0, Type::kQ4_0>(src, n, dst);
    case Type::kQ4_1:
      return widen_blocks<Q4_1, Type::kQ4_1>(src, n, dst);
    case Type::kQ5_0:
      return widen_blocks<Q5_0, Type::kQ5_0>(src, n, dst);
    case Type::kQ5_1:
      return widen_blocks<Q5_1, Type::kQ5_1>(src, n, dst);
    case Type::kQ2_K:
      return widen_blocks<Q2_K, Type::kQ2_K>(src, n, dst);
    case Type::kQ3_K:
      return widen_blocks<Q3_K, Type::kQ3_K>(src, n, dst);
    case Type::kQ4_K:
      return widen_blocks<Q4_K, Type::kQ4_K>(src, n, dst);
    case Type::kQ5_K:
      return widen_blocks<Q5_K, Type::kQ5_K>(src, n, dst);
    case Type::kQ6_K:
      return widen_blocks<Q6_K, Type::kQ6_K>(src, n, dst);
    default:
      return widen_coded(src, type, n, dst);
  }
}

// No element's magnitude bits reach kInfinity.
template <class T, T kInfinity>
HWY_INLINE bool finite_bits(const void* src, std::size_t n) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  constexpr T kMagnitude = static_cast<T>(~(T{1} << (8 * sizeof(T) - 1)));
  const auto* s = static_cast<const T*>(src);
  const auto magnitude = hn::Set(d, kMagnitude);
  auto top = hn::Zero(d);
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) top = hn::Max(top, hn::And(hn::LoadU(d, s + i), magnitude));
  bool finite = hn::AllTrue(d, hn::Lt(top, hn::Set(d, kInfinity)));
  for (; i < n; ++i) finite = finite && static_cast<T>(s[i] & kMagnitude) < kInfinity;
  return finite;
}

bool all_finite(const void* src, Type type, std::size_t n) {
  switch (type) {
    case Type::kF32:
      return finite_bits<std::int32_t, 0x7f800000>(src, n);
    case Type::kF16:
      return finite_bits<std::int16_t, 0x7c00>(src, n);
    case Type::kBf16:
      return finite_bits<std::int16_t, 0x7f80>(src, n);
    default:  // two loads a block keep up with memory
      return scales_finite(src, type, n);
  }
}

}  // namespace
}  // namespace pc::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
