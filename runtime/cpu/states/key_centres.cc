#include "runtime/cpu/states/key_centres.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "runtime/backend/layer_parts.h"
#include "runtime/backend/states_shape.h"

namespace pc {
namespace {

// Columns that a kernel may load behind the one it asks for.
constexpr std::uint32_t kSpareColumns = 16;

// A head's bias in the order and of the size in which keys are when they have been rotated.
void as_rotated(const pc_rope& rope, const float* bias, float* to) {
  const std::size_t half = rope.dims / 2;
  for (std::size_t i = 0; i < half; ++i) {
    to[i] = rope.scale * bias[rope.interleaved ? 2 * i : i];
    to[i + half] = rope.scale * bias[rope.interleaved ? 2 * i + 1 : i + half];
  }
}

// Of the layer's keys, which may be those of an earlier one.
std::vector<float> biases_of(const pc_model_desc& desc, const pc_layer& reader) {
  const pc_layer& layer = layer_of_states(desc, reader.states);
  if (!layer.bk.data || layer.k_norm.data || layer.rope == PC_NO_ROPE) return {};
  const std::size_t n = std::size_t{layer.n_kv_heads} * layer.head_dim;
  const auto* const bias = static_cast<const float*>(layer.bk.data);
  std::vector<float> biases(bias, bias + n);
  for (std::size_t at = 0; at < n; at += layer.head_dim)
    as_rotated(desc.ropes[layer.rope], bias + at, biases.data() + at);
  return biases;
}

// [width, n]: cosines, sines, and ones for what is not rotated.
AlignedBuffer<float> waves_of(const pc_rope& rope, std::size_t width, std::size_t n) {
  if (width == 0) return {};
  AlignedBuffer<float> waves(width * n);
  const std::size_t half = rope.dims / 2;
  for (std::size_t i = 0; i < half; ++i)
    for (std::size_t column = 0; column < n; ++column) {
      const double angle = static_cast<double>(column * kKvBlockTokens) * rope.inv_freq[i];
      waves.data()[i * n + column] = static_cast<float>(std::cos(angle));
      waves.data()[(i + half) * n + column] = static_cast<float>(std::sin(angle));
    }
  std::fill(waves.data() + 2 * half * n, waves.data() + width * n, 1.0f);
  return waves;
}

}  // namespace

KeyCentres::KeyCentres(const pc_model_desc& desc) : desc_(desc), widths_(desc.n_ropes) {
  for (const pc_layer& layer : std::span(desc.layers, desc.n_layers)) {
    biases_.push_back(attends(layer) ? biases_of(desc, layer) : std::vector<float>());
    if (biases_.back().empty()) continue;
    widths_[layer.rope] = std::max(widths_[layer.rope], layer.head_dim);
  }
}

bool KeyCentres::any() const {
  return std::ranges::any_of(biases_, [](const auto& biases) { return !biases.empty(); });
}

void KeyCentres::reach(std::uint32_t n) {
  if (!any() || n + kSpareColumns <= n_columns_) return;
  const std::uint32_t n_columns = std::max(n + kSpareColumns, 2 * n_columns_);
  std::vector<AlignedBuffer<float>> waves;
  for (std::uint32_t rope = 0; rope < desc_.n_ropes; ++rope)
    waves.push_back(waves_of(desc_.ropes[rope], widths_[rope], n_columns));
  waves_ = std::move(waves);
  n_columns_ = n_columns;
}

std::size_t KeyCentres::half(std::uint32_t layer) const {
  return desc_.ropes[desc_.layers[layer].rope].dims / 2;
}

const float* KeyCentres::waves(std::uint32_t layer, std::uint32_t column) const {
  return waves_[desc_.layers[layer].rope].data() + column;
}

void KeyCentres::subtract(std::uint32_t layer, std::uint32_t kv_head, std::uint32_t column,
                          float* key) const {
  const std::size_t hd = desc_.layers[layer].head_dim, h = half(layer);
  const float* const b = biases_[layer].data() + kv_head * hd;
  const float *c = waves(layer, column), *s = c + h * stride();
  for (std::size_t i = 0; i < h; ++i, c += stride(), s += stride()) {
    key[i] -= b[i] * *c - b[i + h] * *s;
    key[i + h] -= b[i + h] * *c + b[i] * *s;
  }
  for (std::size_t d = 2 * h; d < hd; ++d) key[d] -= b[d];
}

// q . R(c) b, by what stands with each cosine and sine of c.
void KeyCentres::sway(std::uint32_t layer, std::uint32_t kv_head, const float* q,
                      float* sway) const {
  const std::size_t hd = desc_.layers[layer].head_dim, h = half(layer);
  const float* const b = biases_[layer].data() + kv_head * hd;
  for (std::size_t i = 0; i < h; ++i) {
    sway[i] = q[i] * b[i] + q[i + h] * b[i + h];
    sway[i + h] = q[i + h] * b[i] - q[i] * b[i + h];
  }
  for (std::size_t d = 2 * h; d < hd; ++d) sway[d] = q[d] * b[d];
}

}  // namespace pc
