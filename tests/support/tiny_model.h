// A small seeded random model in memory, with any mixture of the families'
// parts: what the oracles run on. Weights are exact f32 whatever type they are
// stored in.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <vector>

#include "runtime/backend/backend.h"
#include "simd/kernels.h"
#include "tests/support/random.h"

namespace pc::test {

struct TinyShape {
  std::uint32_t n_layers = 2, d_model = 32, n_heads = 4, n_kv_heads = 2, head_dim = 8, d_ffn = 48,
                vocab_size = 64;
  std::uint32_t rope_dims = 8;
  std::uint32_t window = 0;  // of every second layer
  bool biases = false, head_norms = false, norms_rotated = false;
  std::uint32_t dtype = PC_DTYPE_F32;

  // What other families have (runtime/backend/backend.h).
  std::uint32_t n_ropes = 1;      // layer i takes number i % (n_ropes + 1); the last is none
  bool all_layers_rotate = true;  // else every (n_ropes + 1)-th has no rotation
  bool interleaved = false;
  bool layer_norm = false, norm_offset = false, pre_norms = true, post_norms = false;
  bool whole_head_norms = false, gated = true, parallel = false, parallel_norms = false;
  std::uint32_t activation = PC_ACTIVATION_SILU;
  bool factors = false;       // of embeddings, what blocks add, logits
  bool part_factors = false;  // of what attention and the network make, and of its gate
  float attn_softcap = 0, logit_softcap = 0, clamp = 0;
  bool alibi = false;
  std::uint32_t positions = 0;  // learned ones
  bool sinks = false;

  // Mixtures: of every second layer, or of all; 0: none.
  std::uint32_t n_experts = 0, n_used = 2, d_expert = 12, n_groups = 1;
  bool all_mixtures = true, own_ffn = false, own_gate = false, sigmoid = false;
  bool normalised = true, router_bias = false, choice_bias = false;

  // Layers of two shapes: every second has other heads. The last n_shared attend to the states of
  // the last layer before them that has their heads.
  bool two_shapes = false, keys_as_values = false, norm_values = false;
  // Per-layer embeddings' width; what scales layers, and queries by their position.
  std::uint32_t d_ple = 0;
  bool output_scales = false, query_growth = false;
  bool mixture_norms = false;  // of what the router and the experts read and make
  std::uint32_t n_shared = 0;

  // Latent attention: dimensions of the latent, and of a head's parts; rope_dims are rotated.
  std::uint32_t latent = 0, nope = 0, value = 0, q_rank = 0;

  // Of every second layer, from the first on (pc_recurrence).
  std::uint32_t recurrence = PC_RECURRENCE_NONE;
  bool is_recurrent(std::uint32_t layer) const {
    return recurrence != PC_RECURRENCE_NONE && layer % 2 == 0;
  }
  void make_recurrent(Random& random);

  std::uint32_t kv_heads_of(std::uint32_t layer) const {
    if (!two_shapes || layer % 2 == 0) return n_kv_heads;
    return n_kv_heads == n_heads ? n_heads / 2 : n_heads;
  }
  std::uint32_t head_dim_of(std::uint32_t layer) const {
    return two_shapes && layer % 2 == 1 ? head_dim + 4 : head_dim;
  }
  std::uint32_t owner_of(std::uint32_t layer) const {
    const std::uint32_t n_own = n_layers - n_shared;
    while (layer >= n_own) layer -= two_shapes ? 2 : 1;
    return layer;
  }

  void add_mixture(Random& random);

  // Any parts that may stand together.
  static TinyShape random(Random& random) {
    TinyShape s;
    s.n_heads = 2 * random.between(1, 2);
    s.n_kv_heads = s.n_heads / random.between(1, 2);
    s.head_dim = 4 * random.between(1, 5);
    s.d_model = 24;
    s.d_ffn = 20;
    s.vocab_size = 32;
    s.biases = random.chance(0.5);
    s.head_norms = random.chance(0.5);
    s.whole_head_norms = random.chance(0.3);
    s.window = random.chance(0.4) ? random.between(1, 30) : 0;
    s.n_ropes = random.between(0, 2);
    s.all_layers_rotate = s.n_ropes != 0 && random.chance(0.6);
    s.rope_dims = random.chance(0.3) ? s.head_dim / 2 : s.head_dim;
    s.interleaved = random.chance(0.4);
    s.layer_norm = random.chance(0.4);
    s.norm_offset = random.chance(0.3);
    s.gated = random.chance(0.6);
    s.activation = random.below(s.gated ? 4 : 3);
    s.parallel = random.chance(0.3);
    s.parallel_norms = random.chance(0.5);
    s.pre_norms = random.chance(0.8);
    s.post_norms = !s.parallel && (!s.pre_norms || random.chance(0.3));
    s.factors = !s.parallel && random.chance(0.3);
    s.attn_softcap = random.chance(0.3) ? 1.5f : 0.0f;
    s.logit_softcap = random.chance(0.3) ? 2.0f : 0.0f;
    s.clamp = random.chance(0.2) ? 0.8f : 0.0f;
    s.alibi = random.chance(0.3);
    s.positions = random.chance(0.2) ? 4096 : 0;
    if (!s.parallel && random.chance(0.4)) s.add_mixture(random);
    s.sinks = random.chance(0.3);
    s.two_shapes = random.chance(0.3);
    s.keys_as_values = random.chance(0.2);
    s.norm_values = random.chance(0.2);
    s.n_shared = random.chance(0.3) ? random.between(1, 3) : 0;
    s.n_layers += s.n_shared;
    s.d_ple = !s.parallel && !s.layer_norm && random.chance(0.3) ? 4 : 0;
    s.output_scales = random.chance(0.2);
    s.query_growth = random.chance(0.2);
    s.norms_rotated = s.head_norms && !s.whole_head_norms && !s.interleaved && s.n_ropes < 2 &&
                      s.n_shared == 0 && random.chance(0.5);
    s.mixture_norms = s.n_experts != 0 && !s.layer_norm && random.chance(0.4);
    if (random.chance(0.2)) s.make_latent(random);
    s.part_factors = !s.parallel && s.n_experts == 0 && random.chance(0.3);
    if (random.chance(0.15)) s.activation = PC_ACTIVATION_RELU_SQUARED;
    return s;
  }

  // All layers, without the parts that it does not stand with.
  void make_latent(Random& random) {
    latent = 4 * random.between(2, 4);
    nope = random.between(1, latent);
    value = random.between(1, latent);
    q_rank = random.chance(0.5) ? random.between(4, 12) : 0;
    rope_dims = 4 * random.between(1, 2);
    head_dim = latent + rope_dims;
    n_kv_heads = 1;
    n_ropes = std::max(n_ropes, 1u);
    all_layers_rotate = true;
    biases = head_norms = norms_rotated = two_shapes = keys_as_values = norm_values = false;
    clamp = 0;
    n_layers -= n_shared;
    n_shared = 0;
  }
};

// Without the parts that it does not stand with.
inline void TinyShape::make_recurrent(Random& random) {
  recurrence = random.between(PC_RECURRENCE_CONVOLUTION, PC_RECURRENCE_MAMBA2);
  n_layers = random.between(2, 4);
  n_shared = 0;
  two_shapes = false;
}

inline void TinyShape::add_mixture(Random& random) {
  n_groups = random.between(1, 3);
  n_experts = n_groups * random.between(2, 4);
  n_used = random.between(1, 2);
  all_mixtures = random.chance(0.6);
  own_ffn = random.chance(0.4);
  own_gate = own_ffn && random.chance(0.5);
  sigmoid = random.chance(0.4);
  normalised = random.chance(0.5);
  router_bias = random.chance(0.4);
  choice_bias = random.chance(0.4);
}

class TinyModel {
 public:
  explicit TinyModel(std::uint64_t seed, const TinyShape& shape = {}) : random_(seed) {
    desc.struct_size = sizeof desc;
    desc.n_layers = shape.n_layers;
    desc.d_model = shape.d_model;
    desc.d_ffn = shape.d_ffn;
    desc.vocab_size = shape.vocab_size;
    // What is read of a state may be nearly nothing, whose rounding a norm would make large.
    desc.norm_eps = shape.recurrence == PC_RECURRENCE_NONE ? 1e-5f : 0.1f;
    desc.norm = shape.layer_norm ? PC_NORM_LAYER : PC_NORM_RMS;
    desc.norm_offset = shape.norm_offset ? 0.5f : 0.0f;
    desc.activation = shape.activation;
    desc.parallel = shape.parallel;
    desc.attn_softcap = shape.attn_softcap;
    desc.logit_softcap = shape.logit_softcap;
    desc.qkv_clamp = shape.clamp;
    desc.query_growth = shape.query_growth ? 0.3f : 0.0f;
    desc.growth_positions = 20;
    desc.embedding_scale = shape.factors ? 1.75f : 1.0f;
    desc.residual_scale = shape.factors ? 0.6f : 1.0f;
    desc.logit_scale = shape.factors ? 0.4f : 1.0f;
    desc.attn_out_scale = shape.part_factors ? 0.8f : 1.0f;
    desc.recurrent_out_scale = 1.0f;
    desc.ffn_out_scale = shape.part_factors ? 1.3f : 1.0f;
    desc.ffn_gate_scale = shape.part_factors ? 0.7f : 1.0f;
    add_positions(shape);
    for (std::uint32_t l = 0; l < shape.n_layers; ++l) layers_.push_back(make_layer(shape, l));
    desc.layers = layers_.data();
    desc.embedding = matrix(shape.vocab_size, shape.d_model, shape.dtype, 1.0f);
    if (shape.positions)
      desc.position_embedding = matrix(shape.positions, shape.d_model, shape.dtype, 0.5f);
    if (shape.d_ple != 0) {
      const std::uint32_t width = shape.n_layers * shape.d_ple;
      desc.d_ple = shape.d_ple;
      desc.ple_embedding = matrix(shape.vocab_size, width, shape.dtype, 1.0f);
      desc.ple_projection = matrix(width, shape.d_model, shape.dtype, 1.0f);
      desc.ple_norm = norm(shape.d_ple);
    }
    desc.final_norm = norm(shape.d_model);
    if (shape.layer_norm) desc.final_norm_bias = matrix(1, shape.d_model, shape.dtype);
    desc.lm_head = matrix(shape.vocab_size, shape.d_model, shape.dtype);
  }
  TinyModel(const TinyModel&) = delete;

  // Element i of a tensor, in double.
  static double at(const pc_tensor& t, std::size_t i) {
    float x = 0;
    simd::kScalarKernels.to_f32(
        static_cast<const std::byte*>(t.data) + i * (t.dtype == PC_DTYPE_F32 ? 4 : 2),
        static_cast<simd::Type>(t.dtype), 1, &x);
    return x;
  }

  pc_model_desc desc{};

 private:
  void add_positions(const TinyShape& shape) {
    for (std::uint32_t r = 0; r < shape.n_ropes; ++r) {
      auto& freqs = f64_.emplace_back();
      for (std::uint32_t i = 0; i < shape.rope_dims / 2; ++i)
        freqs.push_back(std::pow(r == 0 ? 10000.0 : 300.0, -2.0 * i / shape.rope_dims));
      ropes_.push_back({shape.rope_dims, shape.interleaved, r == 0 ? 1.0f : 1.1f, freqs.data()});
    }
    desc.n_ropes = shape.n_ropes;
    desc.ropes = ropes_.data();
    if (!shape.alibi) return;
    auto& slopes = f32_.emplace_back();
    for (std::uint32_t h = 0; h < shape.n_heads; ++h)
      slopes.push_back(std::exp2(-static_cast<float>(h + 1)));
    desc.alibi_slopes = slopes.data();
  }

  pc_layer make_layer(const TinyShape& shape, std::uint32_t l) {
    const std::uint32_t hd = shape.head_dim_of(l);
    const std::uint32_t q = shape.n_heads * hd, kv = shape.kv_heads_of(l) * hd;
    const std::uint32_t d = shape.d_model, type = shape.dtype;
    const std::uint32_t owner = shape.owner_of(l);
    pc_layer layer{};
    layer.n_heads = shape.n_heads;
    layer.n_kv_heads = shape.kv_heads_of(l);
    layer.head_dim = hd;
    layer.attn_scale = 1.0f / std::sqrt(static_cast<float>(hd));
    layer.states = shape.recurrence == PC_RECURRENCE_NONE ? owner : l / 2;
    layer.norm_values = shape.norm_values;
    layer.norm_rotated = shape.norms_rotated;
    if (shape.is_recurrent(l)) {
      add_recurrent(shape, &layer.recurrent);
    } else if (shape.latent != 0) {
      add_latent(shape, &layer);
    } else {
      layer.wq = matrix(q, d, type);
      if (owner == l) layer.wk = matrix(kv, d, type);
      if (owner == l && (!shape.keys_as_values || l % 2 == 0)) layer.wv = matrix(kv, d, type);
      layer.wo = matrix(d, q, type);
    }
    const bool mixes = shape.n_experts != 0 && (shape.all_mixtures || l % 2 == 1);
    if (!mixes || shape.own_ffn) layer.ffn = network(shape, shape.d_ffn);
    if (mixes) add_mixture(shape, &layer.mixture);
    if (shape.pre_norms) {
      layer.attn_norm = norm(d);
      if (shape.layer_norm) layer.attn_norm_bias = matrix(1, d, type);
      if (!shape.parallel || shape.parallel_norms) {
        layer.ffn_norm = norm(d);
        if (shape.layer_norm) layer.ffn_norm_bias = matrix(1, d, type);
      }
    }
    if (shape.post_norms) {
      layer.attn_post_norm = norm(d);
      layer.ffn_post_norm = norm(d);
    }
    const bool attends = !shape.is_recurrent(l);
    if (shape.biases && attends) {
      layer.bq = matrix(1, q, type);
      if (layer.wk.data) layer.bk = matrix(1, kv, type);
      if (layer.wv.data) layer.bv = matrix(1, kv, type);
    }
    if (shape.head_norms && attends) {
      layer.q_norm = norm(shape.whole_head_norms ? q : hd);
      if (layer.wk.data) layer.k_norm = norm(shape.whole_head_norms ? kv : hd);
    }
    if (shape.d_ple != 0) {
      layer.ple_gate = matrix(shape.d_ple, d, type);
      layer.ple_out = matrix(d, shape.d_ple, type);
      layer.ple_norm = norm(d);
    }
    if (shape.output_scales) layer.output_scale = matrix(1, 1, type, 0.9f);
    if (shape.sinks && attends) layer.sinks = matrix(1, shape.n_heads, type, 1.0f);
    layer.window = l % 2 ? shape.window : 0;
    layer.rope = shape.n_ropes == 0                             ? PC_NO_ROPE
                 : shape.all_layers_rotate                      ? owner % shape.n_ropes
                 : owner % (shape.n_ropes + 1) == shape.n_ropes ? PC_NO_ROPE
                                                                : owner % (shape.n_ropes + 1);
    return layer;
  }

  void add_recurrent(const TinyShape& shape, pc_recurrent* r) {
    const std::uint32_t d = shape.d_model, type = shape.dtype;
    const bool corrects = shape.recurrence == PC_RECURRENCE_GATED_DELTA;
    r->kind = shape.recurrence;
    r->n_taps = random_.between(2, 4);
    r->n_channels = random_.between(4, 20);
    if (shape.recurrence != PC_RECURRENCE_CONVOLUTION) {
      r->n_key_heads = random_.between(1, 2);
      r->n_heads = r->n_key_heads * random_.between(1, 2);
      r->keys_by_turns = random_.chance(0.5);
      r->d_k = random_.between(2, 24);
      r->d_v = random_.between(4, 20);  // a norm of one number would leave its sign
      r->norm_dims = r->d_v;
      r->n_channels = 2 * r->n_key_heads * r->d_k + r->n_heads * r->d_v;
      r->gate = matrix(r->n_heads * r->d_v, d, type);
      r->decay = matrix(r->n_heads, d, type);
      if (corrects) r->write = matrix(r->n_heads, d, type);
      r->a = matrix(1, r->n_heads, PC_DTYPE_F32);
      for (float& x : f32_.back()) x = -std::exp(3 * x);
      r->step_bias = matrix(1, r->n_heads, type);
      r->step_least = 0.01f, r->step_most = 2.0f;
      r->gate_scale = corrects ? 1.0f : 0.7f;
      if (!corrects) r->skip = matrix(1, r->n_heads, type);
      r->norm = norm(r->d_v);
    }
    const bool alone = r->n_heads == 0;
    r->in = matrix(alone ? 3 * r->n_channels : r->n_channels, d, type);
    r->conv = matrix(r->n_taps, r->n_channels, PC_DTYPE_F32, 1.0f);
    if (random_.chance(0.5)) r->conv_bias = matrix(1, r->n_channels, type);
    r->out = matrix(d, alone ? r->n_channels : r->n_heads * r->d_v, type);
  }

  void add_latent(const TinyShape& shape, pc_layer* layer) {
    pc_latent& latent = layer->latent;
    latent.dims = shape.latent;
    latent.norm_eps = 3e-5f;
    latent.norm = norm(shape.latent);
    if (shape.q_rank != 0) {
      latent.q_down = matrix(shape.q_rank, shape.d_model, shape.dtype);
      latent.q_norm = norm(shape.q_rank);
    }
    layer->wq = matrix(shape.n_heads * (shape.nope + shape.rope_dims),
                       shape.q_rank != 0 ? shape.q_rank : shape.d_model, shape.dtype);
    layer->wk = matrix(shape.latent + shape.rope_dims, shape.d_model, shape.dtype);
    layer->wo = matrix(shape.d_model, shape.n_heads * shape.value, shape.dtype);
    layer->attn_scale = 1.0f / std::sqrt(static_cast<float>(shape.nope + shape.rope_dims));
    auto& up = matrices_.emplace_back();
    for (std::uint32_t h = 0; h < shape.n_heads; ++h)
      up.push_back(matrix(shape.latent, shape.nope, shape.dtype));
    for (std::uint32_t h = 0; h < shape.n_heads; ++h)
      up.push_back(matrix(shape.value, shape.latent, shape.dtype));
    latent.k_up = up.data();
    latent.v_up = up.data() + shape.n_heads;
  }

  pc_ffn network(const TinyShape& shape, std::uint32_t width) {
    pc_ffn ffn{};
    if (shape.gated) ffn.gate = matrix(width, shape.d_model, shape.dtype);
    ffn.up = matrix(width, shape.d_model, shape.dtype);
    ffn.down = matrix(shape.d_model, width, shape.dtype);
    if (!shape.biases) return ffn;
    ffn.b_down = matrix(1, shape.d_model, shape.dtype);
    if (shape.gated) ffn.b_gate = matrix(1, width, shape.dtype);
    return ffn;
  }

  void add_mixture(const TinyShape& shape, pc_mixture* m) {
    m->n_experts = shape.n_experts;
    m->n_used = shape.n_used;
    m->routing = shape.sigmoid ? PC_ROUTING_SIGMOID : PC_ROUTING_SOFTMAX;
    m->normalised = shape.normalised;
    m->scale = shape.normalised ? 1.3f : 2.0f;
    m->router_scale = shape.mixture_norms ? 0.6f : 1.0f;
    if (shape.mixture_norms) {
      for (pc_tensor* t : {&m->router_norm, &m->expert_norm, &m->made_norm, &m->ffn_made_norm})
        *t = norm(shape.d_model);
      m->expert_scales = norm(shape.n_experts);
    }
    m->n_groups = shape.n_groups;
    m->n_groups_used = (shape.n_groups + 1) / 2;
    m->group_best = shape.sigmoid ? 2 : 1;
    m->router = matrix(shape.n_experts, shape.d_model, PC_DTYPE_F32);
    if (shape.router_bias) m->router_bias = matrix(1, shape.n_experts, PC_DTYPE_F32);
    if (shape.choice_bias) m->choice_bias = matrix(1, shape.n_experts, PC_DTYPE_F32, 0.1f);
    if (shape.own_gate) m->ffn_gate = matrix(1, shape.d_model, shape.dtype);
    auto& experts = experts_.emplace_back();
    for (std::uint32_t e = 0; e < shape.n_experts; ++e)
      experts.push_back(network(shape, shape.d_expert));
    m->experts = experts.data();
  }

  pc_tensor norm(std::uint32_t n) {
    auto& v = f32_.emplace_back(random_.floats(n, 0.2f));
    for (float& x : v) x += 1.0f;
    return {v.data(), PC_DTYPE_F32, 1, n};
  }
  // Deviation near 1/sqrt(cols) keeps activations of order one.
  pc_tensor matrix(std::uint32_t rows, std::uint32_t cols, std::uint32_t dtype,
                   float scale = 0.0f) {
    auto& v = f32_.emplace_back(
        random_.floats(std::size_t{rows} * cols,
                       scale != 0.0f ? scale : 1.7f / std::sqrt(static_cast<float>(cols))));
    if (dtype == PC_DTYPE_F32) return {v.data(), dtype, rows, cols};
    auto& h = u16_.emplace_back(v.size());
    simd::kScalarKernels.to_bf16(v.data(), v.size(), h.data());
    return {h.data(), PC_DTYPE_BF16, rows, cols};
  }

  Random random_;
  std::deque<std::vector<double>> f64_;
  std::vector<pc_rope> ropes_;
  std::vector<pc_layer> layers_;
  std::deque<std::vector<pc_ffn>> experts_;
  std::deque<std::vector<pc_tensor>> matrices_;
  std::deque<std::vector<float>> f32_;
  std::deque<std::vector<std::uint16_t>> u16_;
};

}  // namespace pc::test
