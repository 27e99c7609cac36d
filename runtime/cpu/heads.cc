// Heads of queries, keys and values: what happens to them between a layer's products and attention.
#include <algorithm>

#include "runtime/backend/layer_parts.h"
#include "runtime/backend/states_shape.h"
#include "runtime/cpu/states/kv_row.h"
#include "runtime/cpu/states/spread.h"
#include "runtime/cpu/transformer.h"

namespace pc {
namespace {

// x[0..n) of interleaved pairs -> first halves, then second halves: the order in
// which rotations are computed here. Queries and keys alike, so products stay.
void split_pairs(float* x, std::size_t n) {
  float first[kMaxHeadDim / 2], second[kMaxHeadDim / 2];
  for (std::size_t i = 0; i < n / 2; ++i) {
    first[i] = x[2 * i];
    second[i] = x[2 * i + 1];
  }
  std::copy_n(first, n / 2, x);
  std::copy_n(second, n / 2, x + n / 2);
}

}  // namespace

// Makes queries and keys of what the products made, and packs keys and values into the tail.
// Queries are rotated per segment, in attention.
void Transformer::prepare_heads(std::uint32_t index) {
  const pc_layer& layer = desc_.layers[index];
  parallel_.for_each(n_tokens(), [&](std::uint32_t i, std::uint32_t) {
    float* const q = q_.data() + std::size_t{i} * q_width(layer);
    if (layer.q_gated) part_queries(layer, i, q);
    prepare_queries(layer, q);
    if (!has_states(layer)) return;
    float* k = k_.data() + std::size_t{i} * kv_width(layer);
    float* v = v_.data() + std::size_t{i} * kv_width(layer);
    prepare_keys_and_values(layer, i, k, v);
    store(index, rows_->slots[i], k, v);
  });
}

// Of what stands by turns with gates. q: [n_heads, head_dim] of one token.
void Transformer::part_queries(const pc_layer& layer, std::uint32_t row, float* q) const {
  const std::size_t hd = layer.head_dim, width = q_width(layer);
  const float* const made = gated_q_.data() + row * 2 * width;
  for (std::size_t at = 0; at < width; at += hd) std::copy_n(made + 2 * at, hd, q + at);
}

// Numbers that attention made count by their gates, which go with it.
void Transformer::gate_heads(const pc_layer& layer, std::uint32_t row) {
  const std::size_t hd = layer.head_dim, width = q_width(layer);
  float* const made = gated_q_.data() + row * 2 * width;
  float* const mixed = mixed_.data() + row * width;
  for (std::size_t at = 0; at < width; at += hd) {
    float* const gate = made + 2 * at + hd;
    kernels_.activate(simd::Activation::kLogistic, gate, mixed + at, hd);
    std::copy_n(gate, hd, mixed + at);
  }
}

// q: [n_heads, head_dim] of one token.
void Transformer::prepare_queries(const pc_layer& layer, float* q) const {
  add_bias(layer.bq, q);
  clamp(q, q_width(layer));
  norm_and_split(layer, layer.q_norm, layer.n_heads, q);
}

// Of the row's token: keys are rotated to their local position. k, v: [n_kv_heads, head_dim].
void Transformer::prepare_keys_and_values(const pc_layer& layer, std::uint32_t row, float* k,
                                          float* v) const {
  const std::size_t hd = layer.head_dim, width = kv_width(layer);
  add_bias(layer.bk, k);
  clamp(k, width);
  if (is_latent(layer)) {
    latent_heads_.make_state(layer, k, v);
  } else if (layer.wv.data) {
    add_bias(layer.bv, v);
    clamp(v, width);
  } else {
    std::copy_n(k, width, v);
  }
  for (std::size_t at = 0; layer.norm_values && at < width; at += hd)
    kernels_.rms_norm(v + at, ones_.data(), hd, desc_.norm_eps, v + at);
  norm_and_split(layer, layer.k_norm, layer.n_kv_heads, k);
  if (layer.rope == PC_NO_ROPE) return;
  const RotationTable& table = key_rotations_[layer.rope];
  const pc_rope& rope = desc_.ropes[layer.rope];
  for (std::size_t at = 0; at < width; at += hd)
    kernels_.rotate(k + at, table.cos(row), table.sin(row), rope.dims / 2, rope.scale, k + at);
}

// What 8 bits are to hold is evened out before (runtime/cpu/states/key_centres.h, spread.h), which
// attention undoes. keys, values: [n_kv_heads, head_dim] of one token.
void Transformer::store(std::uint32_t index, const KvSlot& slot, float* keys, float* values) const {
  const pc_layer& layer = desc_.layers[index];
  const KvHead shape = slot.planes.geometry->head(layer.states);
  const KeyCentres& centres = attention_.centres();
  for (std::uint32_t head = 0; head < layer.n_kv_heads; ++head) {
    float* key = keys + std::size_t{head} * shape.dims;
    float* value = values + std::size_t{head} * shape.dims;
    if (shape.type == KvType::kQ8) {
      if (centres.has(index)) centres.subtract(index, head, slot.centre, key);
      spread_key(key, shape.dims);
      spread_value(value, shape.dims);
    }
    write_kv_row(shape, slot.token, key, value, slot.planes.keys(layer.states, head),
                 slot.planes.values(layer.states, head));
  }
}

// heads: [n_heads, head_dim] of one token; a norm is of each head, or of all at once. The weights
// of those behind rotation come with the queries' rotation (Attention).
void Transformer::norm_and_split(const pc_layer& layer, const pc_tensor& norm,
                                 std::uint32_t n_heads, float* heads) const {
  const std::size_t hd = layer.head_dim, width = n_heads * hd;
  if (norm.data) {
    const float* const weights = layer.norm_rotated ? ones_.data() : vector_of(norm);
    for (std::size_t at = 0; at < width; at += norm.cols)
      kernels_.rms_norm(heads + at, weights, norm.cols, desc_.norm_eps, heads + at);
  }
  if (layer.rope == PC_NO_ROPE || !desc_.ropes[layer.rope].interleaved) return;
  for (std::size_t at = 0; at < width; at += hd)
    split_pairs(heads + at, desc_.ropes[layer.rope].dims);
}

void Transformer::clamp(float* x, std::size_t n) const {
  if (desc_.qkv_clamp == 0.0f) return;
  for (std::size_t i = 0; i < n; ++i) x[i] = std::clamp(x[i], -desc_.qkv_clamp, desc_.qkv_clamp);
}

}  // namespace pc
