// Which of the kernels that are made of a template a call needs: by type, head and scores.
//
// Host code; pure.
#pragma once

#include <type_traits>

#include "cuda/attention/attention.h"

namespace pc::cuda {

// start(type, dims, biased), as types of constants: dims: the least of those that kernels are made
// for that a head fits; biased: scores are capped, or biased by distance.
template <class Start>
void choose_form(const AttentionArgs& args, Start start) {
  const auto by_dims = [&](auto type, auto biased) {
    const std::uint32_t dims = args.shape.head_dim;
    if (dims <= 64)
      start(type, std::integral_constant<int, 64>(), biased);
    else if (dims <= 96)
      start(type, std::integral_constant<int, 96>(), biased);
    else if (dims <= 128)
      start(type, std::integral_constant<int, 128>(), biased);
    else
      start(type, std::integral_constant<int, 256>(), biased);
  };
  const auto by_bias = [&](auto type) {
    if (args.softcap != 0.0f || args.slopes)
      by_dims(type, std::true_type());
    else
      by_dims(type, std::false_type());
  };
  if (args.shape.type == KvType::kBf16)
    by_bias(std::integral_constant<KvType, KvType::kBf16>());
  else
    by_bias(std::integral_constant<KvType, KvType::kQ8>());
}

}  // namespace pc::cuda
