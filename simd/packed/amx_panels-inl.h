// Types of packed panels as constants, and where a panel begins.
#pragma once

#include "simd/packed/amx_scales-inl.h"

namespace pc::simd {
namespace {

// body.operator()<type>() for a packed type.
template <class Body>
PC_INLINE void with_type(Type type, const Body& body) {
  switch (type) {
    case Type::kQ8_0:
      return body.template operator()<Type::kQ8_0>();
    case Type::kQ4_0:
      return body.template operator()<Type::kQ4_0>();
    case Type::kQ4_1:
      return body.template operator()<Type::kQ4_1>();
    case Type::kQ5_0:
      return body.template operator()<Type::kQ5_0>();
    case Type::kQ5_1:
      return body.template operator()<Type::kQ5_1>();
    case Type::kQ2_K:
      return body.template operator()<Type::kQ2_K>();
    case Type::kQ3_K:
      return body.template operator()<Type::kQ3_K>();
    case Type::kQ4_K:
      return body.template operator()<Type::kQ4_K>();
    case Type::kQ5_K:
      return body.template operator()<Type::kQ5_K>();
    case Type::kQ6_K:
      return body.template operator()<Type::kQ6_K>();
    case Type::kIQ2_XXS:
      return body.template operator()<Type::kIQ2_XXS>();
    case Type::kIQ2_XS:
      return body.template operator()<Type::kIQ2_XS>();
    case Type::kIQ3_XXS:
      return body.template operator()<Type::kIQ3_XXS>();
    case Type::kIQ1_S:
      return body.template operator()<Type::kIQ1_S>();
    case Type::kIQ4_NL:
      return body.template operator()<Type::kIQ4_NL>();
    case Type::kIQ3_S:
      return body.template operator()<Type::kIQ3_S>();
    case Type::kIQ2_S:
      return body.template operator()<Type::kIQ2_S>();
    case Type::kIQ4_XS:
      return body.template operator()<Type::kIQ4_XS>();
    case Type::kIQ1_M:
      return body.template operator()<Type::kIQ1_M>();
    case Type::kTQ1_0:
      return body.template operator()<Type::kTQ1_0>();
    case Type::kTQ2_0:
      return body.template operator()<Type::kTQ2_0>();
    case Type::kMXFP4:
      return body.template operator()<Type::kMXFP4>();
    case Type::kNVFP4:
      return body.template operator()<Type::kNVFP4>();
    default:
      return;
  }
}

// Where a panel begins.
template <Type kType>
PC_INLINE Bytes panel_at(const AmxMatmulArgs& a, std::size_t p) {
  constexpr std::size_t kCode = packed_code_bytes(packed_shape_of(kType));
  return reinterpret_cast<Bytes>(a.w) + p * (codes_at<kType>(a.k) + a.k / 32 * kCode);
}

}  // namespace
}  // namespace pc::simd
