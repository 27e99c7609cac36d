#include "runtime/cpu/model_checks.h"

#include <algorithm>
#include <span>
#include <string>

#include "modules/kv.h"
#include "runtime/backend/layer_parts.h"
#include "runtime/backend/states_shape.h"
#include "runtime/cpu/layers/latent_heads.h"
#include "runtime/cpu/layers/router.h"             // kMostExperts
#include "runtime/cpu/layers/short_convolution.h"  // kMostTaps
#include "runtime/cpu/transformer.h"               // kMaxHeadDim

namespace pc {
namespace {

Error refuse(const std::string& what) {
  return error(Code::kUnsupported, "the CPU backend cannot run this model: " + what);
}

Status check_rope(const pc_rope& rope, std::uint32_t head_dim) {
  if (rope.dims == 0 || rope.dims > head_dim || rope.dims % 2 != 0) {
    return refuse(std::to_string(rope.dims) + " rotated dimensions do not fit a head of " +
                  std::to_string(head_dim));
  }
  return ok();
}

bool scales_parts(const pc_model_desc& d) {
  return d.attn_out_scale != 1.0f || d.recurrent_out_scale != 1.0f || d.ffn_out_scale != 1.0f ||
         d.ffn_gate_scale != 1.0f;
}

Status check_mixture(const pc_model_desc& d, const pc_mixture& m) {
  if (m.n_experts > kMostExperts || m.n_used == 0 || m.n_used > m.n_experts)
    return refuse("a token goes to " + std::to_string(m.n_used) + " of " +
                  std::to_string(m.n_experts) + " experts; up to " + std::to_string(kMostExperts) +
                  " are computed");
  const bool normed = m.router_norm.data || m.expert_norm.data;
  if (normed && !(m.router_norm.data && m.expert_norm.data))
    return refuse("its router and its experts do not both norm what they read");
  if (d.norm == PC_NORM_LAYER && (normed || m.made_norm.data || m.ffn_made_norm.data))
    return refuse("its mixtures have norms of another kind than its layers");
  if (m.routing > PC_ROUTING_SIGMOID) return refuse("the routing of its experts is unknown");
  const bool whole = m.n_groups != 0 && m.n_experts % m.n_groups == 0 && m.group_best != 0;
  if (!whole || m.n_groups_used == 0 || m.n_groups_used > m.n_groups ||
      m.n_used > m.n_experts / m.n_groups * m.n_groups_used)
    return refuse("its groups of experts do not fit their number");
  const pc_ffn& first = m.experts[0];
  for (const pc_ffn& e : std::span(m.experts, m.n_experts)) {
    if (e.up.rows != first.up.rows || (e.gate.data != nullptr) != (first.gate.data != nullptr))
      return refuse("the experts of a layer differ in shape");
  }
  if (d.parallel) return refuse("its parallel blocks have a mixture of experts");
  if (scales_parts(d)) return refuse("it has a mixture of experts and scales what layers make");
  return ok();
}

// Norms behind rotation as Attention has them.
bool can_norm_rotated(const pc_model_desc& d, const pc_layer& layer) {
  const auto of_a_head = [&](const pc_tensor& norm) {
    return norm.data && norm.rows == 1 && norm.cols == layer.head_dim;
  };
  if (!of_a_head(layer.q_norm) || !of_a_head(layer.k_norm)) return false;
  if (layer.rope == PC_NO_ROPE) return true;
  const pc_rope& rope = d.ropes[layer.rope];
  return !rope.interleaved && rope.scale == 1.0f;
}

Status check_heads(const pc_model_desc& d, const pc_layer& layer) {
  if (!layer.n_kv_heads || !layer.n_heads || layer.n_heads % layer.n_kv_heads != 0) {
    return refuse(std::to_string(layer.n_heads) + " heads do not share " +
                  std::to_string(layer.n_kv_heads) + " key/value heads evenly");
  }
  if (!layer.head_dim || layer.head_dim % 2 != 0 || layer.head_dim > kMaxHeadDim) {
    return refuse("head_dim is " + std::to_string(layer.head_dim) +
                  "; it may be even and at most " + std::to_string(kMaxHeadDim));
  }
  const std::uint32_t q = q_width(layer), kv = kv_width(layer);
  const auto fits = [&](const pc_tensor& norm, std::uint32_t width) {
    return !norm.data || norm.cols == layer.head_dim || norm.cols == width;
  };
  if (!fits(layer.q_norm, q) || !fits(layer.k_norm, kv))
    return refuse("a norm of queries or keys is neither of one head nor of all");
  if (layer.sinks.data && layer.sinks.cols != layer.n_heads)
    return refuse("its sinks are not one a head");
  if (layer.q_gated && (is_latent(layer) || layer.bq.data || layer.wq.rows != 2 * q))
    return refuse("queries with gates are of a kind that it does not compute");
  if (d.alibi_slopes && layer.n_heads != d.layers[0].n_heads)
    return refuse("its slopes are for layers with as many heads each");
  if (layer.rope != PC_NO_ROPE && layer.rope >= d.n_ropes)
    return refuse("a layer names a rotary embedding that is not there");
  if (layer.norm_rotated && !can_norm_rotated(d, layer))
    return refuse("norms behind rotation are of a kind that it does not compute");
  return layer.rope == PC_NO_ROPE ? ok() : check_rope(d.ropes[layer.rope], layer.head_dim);
}

// Sizes of latent attention as LatentHeads has them, whose parts stand in buffers of whole heads.
Status check_latent(const pc_model_desc& d, const pc_layer& layer) {
  const pc_latent& latent = layer.latent;
  const auto& [dims, rotary, nope, value] = latent_shape(layer);
  const bool plain = !layer.wv.data && !layer.bq.data && !layer.bk.data && !layer.q_norm.data &&
                     !layer.k_norm.data && !layer.norm_values && d.qkv_clamp == 0.0f;
  if (!plain || layer.n_kv_heads != 1 || layer.rope == PC_NO_ROPE || !has_states(layer))
    return refuse("its latent attention is of a kind that it does not compute");
  const std::uint32_t n = layer.n_heads, q_rank = latent.q_down.data ? latent.q_down.rows : 0;
  const auto like = [](const pc_tensor& first) {
    return [first](const pc_tensor& w) { return w.rows == first.rows && w.cols == first.cols; };
  };
  if (d.ropes[layer.rope].dims != rotary || latent.norm.cols != dims ||
      layer.wk.rows != layer.head_dim || layer.wq.rows != n * (nope + rotary) ||
      layer.wo.cols != n * value || (q_rank != 0 && layer.wq.cols != q_rank) ||
      !std::all_of(latent.k_up, latent.k_up + n, like(latent.k_up[0])) ||
      !std::all_of(latent.v_up, latent.v_up + n, like(latent.v_up[0])))
    return refuse("the parts of its latent attention do not fit each other");
  if (nope > dims || value > layer.head_dim || q_rank > q_width(layer))
    return refuse("parts of its heads are larger than their latent of " + std::to_string(dims));
  return ok();
}

// n_states: layers before this one that have states.
Status check_states(const pc_model_desc& d, const pc_layer& layer, std::uint32_t n_states) {
  if (has_states(layer)) {
    if (layer.states != n_states) return refuse("a layer's states are not counted in order");
    return ok();
  }
  if (layer.states >= n_states)
    return refuse("a layer attends to states that no layer before it has");
  const pc_layer& owner = layer_of_states(d, layer.states);
  if (owner.n_heads != layer.n_heads || owner.n_kv_heads != layer.n_kv_heads ||
      owner.head_dim != layer.head_dim || owner.rope != layer.rope)
    return refuse("a layer attends to states of heads that are not like its own");
  return ok();
}

bool is_vector(const pc_tensor& t, std::uint32_t n) {
  return t.data && t.rows == 1 && t.cols == n;
}

bool is_matrix(const pc_tensor& t, std::uint32_t rows, std::uint32_t cols) {
  return t.data && t.rows == rows && t.cols == cols;
}

// Heads that keep a state of their own.
Status check_head_states(const pc_model_desc& d, const pc_recurrent& r) {
  const bool corrects = r.kind == PC_RECURRENCE_GATED_DELTA;
  const std::uint64_t keys = std::uint64_t{r.n_key_heads} * r.d_k;
  const std::uint64_t values = std::uint64_t{r.n_heads} * r.d_v;
  if (r.d_k == 0 || r.d_k > simd::kMaxStateKeyDim)
    return refuse("states of " + std::to_string(r.d_k) + " rows; 1 to " +
                  std::to_string(simd::kMaxStateKeyDim) + " are computed");
  if (r.d_v == 0 || r.n_key_heads == 0 || r.n_heads % r.n_key_heads != 0 ||
      r.n_channels != 2 * keys + values || r.norm_dims == 0 || values % r.norm_dims != 0)
    return refuse("the heads of a recurrent layer do not fit each other");
  if (!corrects && !(r.step_least >= 0 && r.step_least <= r.step_most))
    return refuse("the steps of a recurrent layer have no range");
  if (r.gate_scale == 0) return refuse("the gates of a recurrent layer count by nothing");
  const auto width = static_cast<std::uint32_t>(values);
  if (!is_matrix(r.in, r.n_channels, d.d_model) || !is_matrix(r.gate, width, d.d_model) ||
      !is_matrix(r.decay, r.n_heads, d.d_model) || !is_vector(r.a, r.n_heads) ||
      !is_vector(r.step_bias, r.n_heads) || !is_matrix(r.out, d.d_model, width) ||
      corrects != (r.write.data != nullptr) ||
      (corrects && !is_matrix(r.write, r.n_heads, d.d_model)) ||
      (r.skip.data && !is_vector(r.skip, r.n_heads)) ||
      (r.norm.data && !is_vector(r.norm, r.norm_dims) && !is_vector(r.norm, width)))
    return refuse("the parts of a recurrent layer's heads do not fit each other");
  return ok();
}

Status check_recurrent(const pc_model_desc& d, const pc_layer& layer) {
  const pc_recurrent& r = layer.recurrent;
  if (r.kind > PC_RECURRENCE_MAMBA2)
    return refuse("a layer carries a state of a kind that it does not compute");
  if (r.n_taps < 2 || r.n_taps > kMostTaps)
    return refuse("a convolution of " + std::to_string(r.n_taps) + " taps; 2 to " +
                  std::to_string(kMostTaps) + " are computed");
  if (r.n_channels == 0 || !is_matrix(r.conv, r.n_taps, r.n_channels) ||
      r.conv.dtype != PC_DTYPE_F32 || (r.conv_bias.data && !is_vector(r.conv_bias, r.n_channels)))
    return refuse("a recurrent layer's convolution does not fit its channels");
  if (r.kind != PC_RECURRENCE_CONVOLUTION) return check_head_states(d, r);
  if (r.n_heads != 0 || !is_matrix(r.in, 3 * r.n_channels, d.d_model) ||
      !is_matrix(r.out, d.d_model, r.n_channels))
    return refuse("the parts of a recurrent layer do not fit each other");
  return ok();
}

Status check_layer(const pc_model_desc& d, const pc_layer& layer) {
  if (is_recurrent(layer)) PC_CHECK_OK(check_recurrent(d, layer));
  if (attends(layer)) PC_CHECK_OK(check_heads(d, layer));
  if (attends(layer) && !(layer.wq.data && layer.wo.data))
    return refuse("a layer has some parts of attention and lacks others");
  if (is_latent(layer)) PC_CHECK_OK(check_latent(d, layer));
  if (!is_recurrent(layer) && !attends(layer) && !has_network(layer))
    return refuse("a layer is empty");
  if (d.parallel && (!(is_recurrent(layer) || attends(layer)) || !has_network(layer)))
    return refuse("its parallel blocks lack a half");
  if (layer.ffn.up.rows > d.d_ffn) return refuse("a layer's network is wider than d_ffn says");
  if (layer.mixture.n_experts != 0) PC_CHECK_OK(check_mixture(d, layer.mixture));
  const bool gated = (!has_ffn(layer) || layer.ffn.gate.data) &&
                     (layer.mixture.n_experts == 0 || layer.mixture.experts[0].gate.data);
  if (d.activation == PC_ACTIVATION_CLAMPED_SWIGLU && !gated)
    return refuse("its activation wants a gate, which a network does not have");
  if (d.parallel && (layer.attn_post_norm.data || layer.ffn_post_norm.data))
    return refuse("its parallel blocks norm what they add");
  if (layer.ple_gate.data && (d.d_ple == 0 || d.parallel || d.norm == PC_NORM_LAYER))
    return refuse("its tokens' own inputs to layers do not fit its blocks");
  return ok();
}

}  // namespace

Status check_model(const pc_model_desc& d, std::uint32_t kv_type) {
  if (d.struct_size < sizeof(pc_model_desc)) return refuse("its description is of another version");
  if (!kv_type_known(static_cast<KvType>(kv_type)))
    return refuse("K/V type " + std::to_string(kv_type) + " is unknown");
  if (!d.n_layers || !d.d_model || !d.vocab_size) return refuse("a size is zero");
  const bool activates =
      d.activation <= PC_ACTIVATION_CLAMPED_SWIGLU || d.activation == PC_ACTIVATION_RELU_SQUARED;
  if (d.norm > PC_NORM_LAYER || !activates) return refuse("its norm or activation is unknown");
  if (d.parallel && (d.residual_scale != 1.0f || scales_parts(d)))
    return refuse("its parallel blocks scale what they add");
  if (d.query_growth != 0.0f && d.growth_positions == 0)
    return refuse("its queries grow by no number of positions");
  std::uint32_t n_states = 0;
  for (const pc_layer& layer : std::span(d.layers, d.n_layers)) {
    PC_CHECK_OK(check_layer(d, layer));
    if (!attends(layer)) continue;
    PC_CHECK_OK(check_states(d, layer, n_states));
    n_states += has_states(layer);
    if (kv_type_fits(static_cast<KvType>(kv_type), layer.head_dim)) continue;
    return refuse("head_dim is " + std::to_string(layer.head_dim) + ", and states of type " +
                  kv_type_name(static_cast<KvType>(kv_type)) + " want a multiple of " +
                  std::to_string(kv_type_unit(static_cast<KvType>(kv_type))) + "; bf16 takes it");
  }
  if (n_states == 0) return refuse("none of its layers has keys and values");
  if (n_state_numbers(d) > UINT32_MAX)
    return refuse("the states of its recurrent layers are larger than are counted");
  return ok();
}

}  // namespace pc
