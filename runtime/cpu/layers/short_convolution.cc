#include "runtime/cpu/layers/short_convolution.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/backend/layer_parts.h"  // vector_of
#include "runtime/cpu/layers/state_maps.h"

namespace pc {

void convolve_row(const pc_recurrent& r, const ChannelInputs& inputs, std::uint32_t i,
                  const simd::Kernels& kernels, float* y) {
  std::array<const float*, kMostTaps> taps;
  for (std::uint32_t j = 0; j < r.n_taps; ++j)
    taps[j] = inputs.at(std::int64_t{i} - r.n_taps + 1 + j);
  kernels.convolve(taps.data(), vector_of(r.conv), vector_of(r.conv_bias), r.n_taps, r.n_channels,
                   y);
}

ChannelInputs inputs_of(const RecurrentLayer& layer, const RecurrentRows& rows, const float* made,
                        std::size_t width) {
  return {layer.r, inputs_before(layer, rows), made + rows.first * width, width};
}

void keep_inputs(const RecurrentLayer& layer, const RecurrentRows& rows,
                 const ChannelInputs& inputs) {
  float* const after = rows.after + layer.first_number;
  inputs.keep(rows.n, after);
  if (rows.ends_map())
    std::copy_n(after, kept_inputs(layer.r),
                rows.made->numbers() + rows.made->part(layer.index).inputs);
}

void short_convolution(const RecurrentLayer& layer, std::span<const RecurrentRows> timelines,
                       const simd::Kernels& kernels, const Parallel& parallel, float* made,
                       float* y) {
  const pc_recurrent& r = layer.r;
  const std::size_t n = r.n_channels, width = 3 * n;
  for (const RecurrentRows& rows : timelines) {
    float* const mine = made + rows.first * width;
    parallel.for_each(rows.n, [&](std::uint32_t i, std::uint32_t) {
      float* const b = mine + i * width;
      for (std::size_t c = 0; c < n; ++c) b[c] *= b[2 * n + c];
    });
    const ChannelInputs inputs = inputs_of(layer, rows, made, width);
    parallel.for_each(rows.n, [&](std::uint32_t i, std::uint32_t) {
      float* const made_y = y + (rows.first + i) * n;
      convolve_row(r, inputs, i, kernels, made_y);
      const float* const gate = mine + i * width + n;
      for (std::size_t c = 0; c < n; ++c) made_y[c] *= gate[c];
    });
    keep_inputs(layer, rows, inputs);
  }
}

}  // namespace pc
