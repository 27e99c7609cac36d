#include "runtime/cpu/layers/head_states.h"

#include <algorithm>
#include <cmath>

#include "runtime/backend/layer_parts.h"
#include "runtime/cpu/layers/short_convolution.h"

namespace pc {
namespace {

std::uint32_t channels(const pc_layer& layer) {
  return layer.recurrent.n_heads != 0 ? layer.recurrent.n_channels : 0;
}
std::uint32_t heads(const pc_layer& layer) {
  return layer.recurrent.n_heads;
}
std::uint32_t values(const pc_layer& layer) {
  return layer.recurrent.n_heads * layer.recurrent.d_v;
}

bool corrects(const pc_recurrent& r) {
  return r.kind == PC_RECURRENCE_GATED_DELTA;
}

// Where queries, keys and values lie among the channels.
struct Channels {
  explicit Channels(const pc_recurrent& r) {
    const std::size_t keys = std::size_t{r.n_key_heads} * r.d_k;
    if (corrects(r)) {
      q = 0, k = keys, v = 2 * keys;
    } else {
      v = 0, k = std::size_t{r.n_heads} * r.d_v, q = k + keys;
    }
  }
  std::size_t q, k, v;
};

// As the reference has it, below its eps of 1e-6, too: x / sqrt(sum x^2 + eps).
void normalise(float* x, std::size_t n, float scale) {
  constexpr double kEps = 1e-6;
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) squares += double{x[i]} * x[i];
  const auto factor = static_cast<float>(scale / std::sqrt(squares + kEps));
  for (std::size_t i = 0; i < n; ++i) x[i] *= factor;
}

// log(1 + exp(x)), without overflow
float softplus(float x) {
  return std::max(x, 0.0f) + std::log1p(std::exp(-std::fabs(x)));
}

}  // namespace

HeadStates::HeadStates(const pc_model_desc& desc, const simd::Kernels& kernels, Parallel parallel,
                       std::uint32_t max_rows, bool alike)
    : kernels_(kernels),
      parallel_(parallel),
      norm_eps_(desc.norm_eps),
      alike_(alike),
      inputs_(std::size_t{max_rows} * largest_of_layers(desc, channels)),
      read_(inputs_.size()),
      gate_(std::size_t{max_rows} * largest_of_layers(desc, values)),
      decay_(std::size_t{max_rows} * largest_of_layers(desc, heads)),
      write_(decay_.size()) {}

Status HeadStates::run(const pc_recurrent& r, const Gemm::Input& h,
                       std::span<const RecurrentRows> timelines, std::size_t first_number,
                       Gemm* gemm, float* z) {
  const Gemm::Product products[] = {{&r.in, inputs_.data()},
                                    {&r.gate, gate_.data()},
                                    {&r.decay, decay_.data()},
                                    {&r.write, write_.data()}};
  PC_CHECK_OK(gemm->linear(h, std::span(products, corrects(r) ? 4 : 3), false));
  for (const RecurrentRows& rows : timelines) {
    const ChannelInputs inputs(r, rows, first_number, inputs_.data(), r.n_channels);
    parallel_.for_each(rows.n, [&](std::uint32_t i, std::uint32_t) {
      const std::uint32_t row = rows.first + i;
      convolve_row(r, inputs, i, kernels_, read_.data() + std::size_t{row} * r.n_channels);
      prepare_row(r, row);
    });
    inputs.keep(rows.n, rows.after + first_number);
  }
  const auto n_timelines = static_cast<std::uint32_t>(timelines.size());
  parallel_.for_each(n_timelines * r.n_heads, [&](std::uint32_t task, std::uint32_t) {
    recur(r, timelines[task / r.n_heads], first_number, task % r.n_heads, z);
  });
  parallel_.for_each(h.m, [&](std::uint32_t row, std::uint32_t) { finish_row(r, row, z); });
  return ok();
}

// What a token's heads read and write, and what their states decay by before.
void HeadStates::prepare_row(const pc_recurrent& r, std::uint32_t row) {
  float* const x = read_.data() + std::size_t{row} * r.n_channels;
  kernels_.activate(simd::Activation::kSilu, x, nullptr, r.n_channels);
  if (corrects(r)) {
    const Channels at(r);
    const float of_query = 1.0f / std::sqrt(static_cast<float>(r.d_k));
    for (std::size_t head = 0; head < r.n_key_heads; ++head) {
      normalise(x + at.q + head * r.d_k, r.d_k, of_query);
      normalise(x + at.k + head * r.d_k, r.d_k, 1.0f);
    }
  }
  float* const decay = decay_.data() + std::size_t{row} * r.n_heads;
  float* const write = write_.data() + std::size_t{row} * r.n_heads;
  if (corrects(r)) kernels_.activate(simd::Activation::kLogistic, write, nullptr, r.n_heads);
  for (std::uint32_t head = 0; head < r.n_heads; ++head) {
    float step = softplus(decay[head] + vector_of(r.step_bias)[head]);
    if (!corrects(r)) write[head] = step = std::clamp(step, r.step_least, r.step_most);
    decay[head] = std::exp(vector_of(r.a)[head] * step);
  }
}

// All rows of a timeline through the state of one head.
void HeadStates::recur(const pc_recurrent& r, const RecurrentRows& rows, std::size_t first_number,
                       std::uint32_t head, float* z) const {
  const Channels at(r);
  const std::uint32_t key_head =
      r.keys_by_turns ? head % r.n_key_heads : head / (r.n_heads / r.n_key_heads);
  const float* const x = read_.data() + std::size_t{rows.first} * r.n_channels;
  const std::size_t scalars = std::size_t{rows.first} * r.n_heads + head;
  const std::size_t width = std::size_t{r.n_heads} * r.d_v;
  const std::size_t state =
      first_number + kept_inputs(r) + head * simd::state_numbers(r.d_k, r.d_v);
  kernels_.recur({.q = x + at.q + std::size_t{key_head} * r.d_k,
                  .k = x + at.k + std::size_t{key_head} * r.d_k,
                  .v = x + at.v + std::size_t{head} * r.d_v,
                  .y = z + rows.first * width + std::size_t{head} * r.d_v,
                  .decay = decay_.data() + scalars,
                  .write = write_.data() + scalars,
                  .key_stride = r.n_channels,
                  .value_stride = r.n_channels,
                  .y_stride = width,
                  .scalar_stride = r.n_heads,
                  .n = rows.n,
                  .d_k = r.d_k,
                  .d_v = r.d_v,
                  .before = rows.before + state,
                  .after = rows.after + state,
                  .corrects = corrects(r),
                  .alike = alike_});
}

// Skips, norms and gates what was read of the states.
void HeadStates::finish_row(const pc_recurrent& r, std::uint32_t row, float* z) {
  const std::size_t width = std::size_t{r.n_heads} * r.d_v;
  float* const y = z + row * width;
  float* const gate = gate_.data() + row * width;
  if (r.skip.data) {
    const float* const x = read_.data() + std::size_t{row} * r.n_channels + Channels(r).v;
    for (std::size_t head = 0, i = 0; head < r.n_heads; ++head, i += r.d_v)
      kernels_.add(x + i, vector_of(r.skip)[head], r.d_v, y + i);
  }
  const auto norm = [&](float* numbers) {
    const std::size_t step = r.norm.cols == r.norm_dims ? 0 : r.norm_dims;
    for (std::size_t i = 0, w = 0; r.norm.data && i < width; i += r.norm_dims, w += step)
      kernels_.rms_norm(numbers + i, vector_of(r.norm) + w, r.norm_dims, norm_eps_, numbers + i);
  };
  if (corrects(r)) norm(y);
  kernels_.activate(simd::Activation::kSilu, gate, y, width);
  if (!corrects(r)) norm(gate);
  std::copy_n(gate, width, y);
}

}  // namespace pc
