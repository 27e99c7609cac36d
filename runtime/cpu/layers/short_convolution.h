// The gated short convolution of a recurrent layer (PC_RECURRENCE_CONVOLUTION of
// runtime/backend/model_desc.h; LFM2, Liquid AI 2025): of what `in` makes of each row, [b, c, x],
// y = c * conv(b * x), each channel by itself.
//
// Pure functions. Threads: any; runs its loop on `parallel`.
#pragma once

#include <cstddef>
#include <span>

#include "base/parallel.h"
#include "runtime/backend/backend.h"
#include "runtime/cpu/layers/channel_inputs.h"
#include "runtime/cpu/layers/recurrent_rows.h"
#include "simd/kernels.h"

namespace pc {

inline constexpr std::uint32_t kMostTaps = 64;

// made: [rows of the sweep, 3 * n_channels], of r.in; the b of each row becomes b * x.
// y: [rows of the sweep, n_channels]
void short_convolution(const RecurrentLayer& layer, std::span<const RecurrentRows> timelines,
                       const simd::Kernels& kernels, const Parallel& parallel, float* made,
                       float* y);

// The inputs of these rows, and of the tokens before; made: [rows of the sweep], `width` apart.
ChannelInputs inputs_of(const RecurrentLayer& layer, const RecurrentRows& rows, const float* made,
                        std::size_t width);
// Keeps what rows behind these will read, and for the map that they are part of.
void keep_inputs(const RecurrentLayer& layer, const RecurrentRows& rows,
                 const ChannelInputs& inputs);

// y = conv_bias + sum_j conv[j] u_(i - n_taps + 1 + j) of row i. [n_channels]
void convolve_row(const pc_recurrent& r, const ChannelInputs& inputs, std::uint32_t i,
                  const simd::Kernels& kernels, float* y);

}  // namespace pc
