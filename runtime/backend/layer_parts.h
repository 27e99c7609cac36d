// What a layer of the seam is made of, walked in one place, so that who packs, reads ahead, counts
// or widens matrices misses none.
//
// Threads: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/backend/backend.h"
#include "simd/kernels.h"  // state_numbers

namespace pc {

// Of a vector of f32.
inline const float* vector_of(const pc_tensor& t) {
  return static_cast<const float*>(t.data);
}

inline bool has_ffn(const pc_layer& layer) {
  return layer.ffn.up.data != nullptr;
}

// A network of its own, a mixture, or both.
inline bool has_network(const pc_layer& layer) {
  return has_ffn(layer) || layer.mixture.n_experts != 0;
}

// Numbers of a token's queries, and of its keys, as attention has them.
inline std::uint32_t q_width(const pc_layer& layer) {
  return layer.n_heads * layer.head_dim;
}
inline std::uint32_t kv_width(const pc_layer& layer) {
  return layer.n_kv_heads * layer.head_dim;
}

// Attention with keys and values of its own, or those of an earlier layer.
inline bool attends(const pc_layer& layer) {
  return layer.wq.data || layer.wk.data || layer.wo.data;
}

inline bool is_latent(const pc_layer& layer) {
  return layer.latent.dims != 0;
}

inline bool is_recurrent(const pc_layer& layer) {
  return layer.recurrent.kind != PC_RECURRENCE_NONE;
}

// Numbers of a recurrent layer's state: inputs that its convolution has still to read, and the
// states of its heads behind them; 0: the layer has none.
inline std::size_t kept_inputs(const pc_recurrent& r) {
  return r.kind == PC_RECURRENCE_NONE ? 0 : std::size_t{r.n_taps - 1} * r.n_channels;
}
inline std::size_t state_numbers(const pc_layer& layer) {
  const pc_recurrent& r = layer.recurrent;
  return kept_inputs(r) + r.n_heads * simd::state_numbers(r.d_k, r.d_v);
}

// Numbers that a recurrence makes of a token.
inline std::uint32_t made_width(const pc_layer& layer) {
  const pc_recurrent& r = layer.recurrent;
  return r.n_heads != 0 ? r.n_heads * r.d_v : r.n_channels;
}

inline std::size_t n_state_numbers(const pc_model_desc& desc) {
  std::size_t n = 0;
  for (const pc_layer& layer : std::span(desc.layers, desc.n_layers)) n += state_numbers(layer);
  return n;
}

// The largest of a number of each layer.
template <class Number>
std::uint32_t largest_of_layers(const pc_model_desc& desc, const Number& number) {
  std::uint32_t most = 0;
  for (const pc_layer& layer : std::span(desc.layers, desc.n_layers))
    most = std::max<std::uint32_t>(most, number(layer));
  return most;
}

inline std::span<const pc_ffn> experts_of(const pc_layer& layer) {
  return {layer.mixture.experts, layer.mixture.n_experts};
}

// visit(const pc_tensor&): the matrices of products, in the order in which a token needs them;
// absent ones, which have no data, are left out.
template <class Visit>
void for_each_matrix(const pc_ffn& ffn, const Visit& visit) {
  for (const pc_tensor* w : {&ffn.up, &ffn.gate, &ffn.down})
    if (w->data) visit(*w);
}

template <class Visit>
void for_each_matrix(const pc_layer& layer, const Visit& visit) {
  const pc_latent& latent = layer.latent;
  const std::size_t n_up = is_latent(layer) ? layer.n_heads : 0;
  const pc_recurrent& r = layer.recurrent;
  for (const pc_tensor* w : {&r.in, &r.gate, &r.decay, &r.write, &r.out})
    if (w->data) visit(*w);
  for (const pc_tensor* w : {&latent.q_down, &layer.wq, &layer.wk, &layer.wv})
    if (w->data) visit(*w);
  for (const pc_tensor* up : {latent.k_up, latent.v_up})
    for (const pc_tensor& w : std::span(up, n_up)) visit(w);
  for (const pc_tensor* w : {&layer.wo, &layer.mixture.router, &layer.mixture.ffn_gate})
    if (w->data) visit(*w);
  for_each_matrix(layer.ffn, visit);
  for (const pc_ffn& expert : experts_of(layer)) for_each_matrix(expert, visit);
  for (const pc_tensor* w : {&layer.ple_gate, &layer.ple_out})
    if (w->data) visit(*w);
}

template <class Visit>
void for_each_matrix(const pc_model_desc& desc, const Visit& visit) {
  if (desc.ple_projection.data) visit(desc.ple_projection);
  for (const pc_layer& layer : std::span(desc.layers, desc.n_layers)) for_each_matrix(layer, visit);
  visit(desc.lm_head);
}

// visit(pc_tensor&): the biases of a network, absent ones included.
template <class Visit>
void for_each_bias(pc_ffn& ffn, const Visit& visit) {
  for (pc_tensor* b : {&ffn.b_gate, &ffn.b_up, &ffn.b_down}) visit(*b);
}

}  // namespace pc
