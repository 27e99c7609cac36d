#include "runtime/cpu/layers/head_states.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/backend/layer_parts.h"
#include "runtime/cpu/layers/short_convolution.h"
#include "runtime/cpu/layers/state_maps.h"

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

// The double of MadeMap::Running::factors.
double number_in(const float* bytes) {
  double number = 0;
  std::memcpy(&number, bytes, sizeof number);
  return number;
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

Status HeadStates::run(const RecurrentLayer& layer, const Gemm::Input& h,
                       std::span<const RecurrentRows> timelines, Gemm* gemm, float* z) {
  const pc_recurrent& r = layer.r;
  const Gemm::Product products[] = {{&r.in, inputs_.data()},
                                    {&r.gate, gate_.data()},
                                    {&r.decay, decay_.data()},
                                    {&r.write, write_.data()}};
  PC_CHECK_OK(gemm->linear(h, std::span(products, corrects(r) ? 4 : 3), false));
  by_timeline_.clear();
  for (const RecurrentRows& rows : timelines) {
    const ChannelInputs inputs = inputs_of(layer, rows, inputs_.data(), r.n_channels);
    parallel_.for_each(rows.n, [&](std::uint32_t i, std::uint32_t) {
      const std::uint32_t row = rows.first + i;
      convolve_row(r, inputs, i, kernels_, read_.data() + std::size_t{row} * r.n_channels);
      prepare_row(r, row);
    });
    keep_inputs(layer, rows, inputs);
    if (rows.made && is_short_run(r, rows.made->n_tokens())) keep_tokens(layer, rows);
    if (!rows.goes_on()) by_timeline_.emplace_back(&rows, 0);
    by_timeline_.back() = {by_timeline_.back().data(), by_timeline_.back().size() + 1};
  }
  const auto n_timelines = static_cast<std::uint32_t>(by_timeline_.size());
  parallel_.for_each(n_timelines * r.n_heads, [&](std::uint32_t task, std::uint32_t) {
    for (const RecurrentRows& rows : by_timeline_[task / r.n_heads])
      recur(layer, rows, task % r.n_heads, z);
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

// All these rows through the state of one head, and through the map that they are part of.
void HeadStates::recur(const RecurrentLayer& layer, const RecurrentRows& rows, std::uint32_t head,
                       float* z) const {
  const pc_recurrent& r = layer.r;
  const bool maps = rows.made && !is_short_run(r, rows.made->n_tokens());
  simd::RecurArgs args = through_rows(r, rows, head);
  const std::size_t width = std::size_t{r.n_heads} * r.d_v;
  args.y = z + rows.first * width + std::size_t{head} * r.d_v;
  args.y_stride = width;
  args.before = state_before(layer, rows, head, kernels_, alike_);
  args.after = rows.after + head_number(layer, head);
  kernels_.recur(args);
  if (!maps) return;
  make_map(layer, rows, head);
  if (rows.ends_map()) end_map(layer, rows, head);
}

// What rows read and write of a head; the states are to be filled in.
simd::RecurArgs HeadStates::through_rows(const pc_recurrent& r, const RecurrentRows& rows,
                                         std::uint32_t head) const {
  const Channels at(r);
  const std::size_t key = std::size_t{key_head_of(r, head)} * r.d_k;
  const float* const x = read_.data() + std::size_t{rows.first} * r.n_channels;
  const std::size_t scalars = std::size_t{rows.first} * r.n_heads + head;
  simd::RecurArgs args{};
  args.q = x + at.q + key;
  args.k = x + at.k + key;
  args.v = x + at.v + std::size_t{head} * r.d_v;
  args.decay = decay_.data() + scalars;
  args.write = write_.data() + scalars;
  args.key_stride = args.value_stride = r.n_channels;
  args.scalar_stride = r.n_heads;
  args.n = rows.n;
  args.d_k = r.d_k;
  args.d_v = r.d_v;
  args.corrects = corrects(r);
  args.alike = alike_;
  return args;
}

// B is what becomes of zeros, and P of the unit matrix where all values are zeros.
void HeadStates::make_map(const RecurrentLayer& layer, const RecurrentRows& rows,
                          std::uint32_t head) const {
  const pc_recurrent& r = layer.r;
  MadeMap::Running before = rows.made->before(r, layer.index, head);
  const MadeMap::Running after = rows.made->after(r, layer.index, head);
  if (rows.begins_map()) {
    before = after;
    begin_map(r, after);
  }
  simd::RecurArgs args = through_rows(r, rows, head);
  args.q = nullptr;
  args.before = before.states;
  args.after = after.states;
  kernels_.recur(args);
  if (!corrects(r)) {
    double factor = number_in(before.factors);
    for (std::size_t i = 0; i < rows.n; ++i) factor *= args.decay[i * args.scalar_stride];
    std::memcpy(after.factors, &factor, sizeof factor);
    return;
  }
  args.v = nullptr;
  args.d_v = r.d_k;
  args.before = before.factors;
  args.after = after.factors;
  kernels_.recur(args);
}

void HeadStates::begin_map(const pc_recurrent& r, const MadeMap::Running& map) {
  std::fill_n(map.states, simd::state_numbers(r.d_k, r.d_v), 0.0f);
  if (!corrects(r)) {
    constexpr double kOne = 1;
    std::memcpy(map.factors, &kOne, sizeof kOne);
    return;
  }
  std::fill_n(map.factors, simd::state_numbers(r.d_k, r.d_k), 0.0f);
  for (std::uint32_t i = 0; i < r.d_k; ++i) map.factors[simd::state_number(r.d_k, i, i)] = 1.0f;
}

// P is kept as P^T.
void HeadStates::end_map(const RecurrentLayer& layer, const RecurrentRows& rows,
                         std::uint32_t head) {
  const pc_recurrent& r = layer.r;
  const StateMapPart& part = rows.made->part(layer.index);
  const MadeMap::Running made = rows.made->after(r, layer.index, head);
  const std::size_t n = simd::state_numbers(r.d_k, r.d_v);
  float* const factors = rows.made->numbers() + part.factors + head * factor_numbers(r);
  std::copy_n(made.states, n, rows.made->numbers() + part.states + head * n);
  if (!corrects(r)) *factors = static_cast<float>(number_in(made.factors));
  for (std::uint32_t j = 0; corrects(r) && j < r.d_k; ++j)
    for (std::uint32_t i = 0; i < r.d_k; ++i)
      factors[std::size_t{j} * r.d_k + i] = made.factors[simd::state_number(r.d_k, i, j)];
}

// Of a short run, what its tokens read and write stands for the map.
void HeadStates::keep_tokens(const RecurrentLayer& layer, const RecurrentRows& rows) const {
  const pc_recurrent& r = layer.r;
  const Channels at(r);
  const StateMapPart& part = rows.made->part(layer.index);
  float* const numbers = rows.made->numbers();
  const std::size_t keys = std::size_t{r.n_key_heads} * r.d_k;
  const std::size_t values = std::size_t{r.n_heads} * r.d_v;
  for (std::size_t i = 0; i < rows.n; ++i) {
    const std::size_t row = rows.first + i, token = rows.made_first + i;
    const float* const x = read_.data() + row * r.n_channels;
    std::copy_n(x + at.k, keys, numbers + part.keys + token * keys);
    std::copy_n(x + at.v, values, numbers + part.values + token * values);
    std::copy_n(decay_.data() + row * r.n_heads, r.n_heads,
                numbers + part.decays + token * r.n_heads);
    std::copy_n(write_.data() + row * r.n_heads, r.n_heads,
                numbers + part.writes + token * r.n_heads);
  }
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
  for (std::size_t i = 0; r.gate_scale != 1.0f && i < width; ++i) gate[i] *= r.gate_scale;
  kernels_.activate(simd::Activation::kSilu, gate, y, width);
  if (!corrects(r)) norm(gate);
  std::copy_n(gate, width, y);
}

}  // namespace pc
