#include <initializer_list>
#include <string>

#include "cuda/backend/model.h"
#include "cuda/states/kv_q4.h"  // kLineDims

namespace pc::cuda {
namespace {

constexpr std::uint32_t kMaxHeadDim = 512;

Error refuse(const std::string& what) {
  return error(Code::kUnsupported, "the CUDA backend cannot run this model: " + what);
}

// Its kernels take weights apart up to Q6_K; of later types only the CPU knows the bits.
Status check_types(std::initializer_list<const pc_tensor*> tensors) {
  for (const pc_tensor* t : tensors) {
    if (!t->data || t->dtype <= PC_DTYPE_Q6_K) continue;
    return refuse(
        "it has no kernels for weights of codebooks and tables (IQ, TQ, MXFP4, NVFP4: "
        "type " +
        std::to_string(t->dtype) + " of the seam); the CPU computes them");
  }
  return ok();
}

Status check_layer(const pc_model_desc& d, const pc_layer& layer) {
  PC_CHECK_OK(check_types({&layer.wq, &layer.wk, &layer.wv, &layer.wo, &layer.ffn.gate,
                           &layer.ffn.up, &layer.ffn.down}));
  if (layer.rope != PC_NO_ROPE && layer.rope >= d.n_ropes)
    return refuse("a layer names a rotary embedding that is not there");
  const pc_layer& first = d.layers[0];
  if (layer.n_heads != first.n_heads || layer.n_kv_heads != first.n_kv_heads ||
      layer.head_dim != first.head_dim || layer.attn_scale != first.attn_scale)
    return refuse("layers with heads of several shapes are computed by the CPU backend alone");
  if (layer.recurrent.kind != PC_RECURRENCE_NONE)
    return refuse("layers that carry a state are computed by the CPU backend alone");
  if (!layer.wo.data || (!layer.ffn.up.data && layer.mixture.n_experts == 0))
    return refuse("layers of one half are computed by the CPU backend alone");
  if (layer.q_gated) return refuse("queries with gates are computed by the CPU backend alone");
  if (layer.latent.dims != 0)
    return refuse("multi-head latent attention is computed by the CPU backend alone");
  if (!layer.wk.data || !layer.wv.data || layer.norm_values)
    return refuse(
        "layers without keys or values of their own, or with values that are normed, are computed "
        "by the CPU backend alone");
  if (layer.norm_rotated)
    return refuse("norms behind rotation are computed by the CPU backend alone");
  const std::uint32_t q = layer.n_heads * layer.head_dim, kv = layer.n_kv_heads * layer.head_dim;
  const auto fits = [&](const pc_tensor& norm, std::uint32_t width) {
    return !norm.data || norm.cols == layer.head_dim || norm.cols == width;
  };
  if (!fits(layer.q_norm, q) || !fits(layer.k_norm, kv))
    return refuse("a norm of queries or keys is neither of one head nor of all");
  if (d.parallel && (layer.attn_post_norm.data || layer.ffn_post_norm.data))
    return refuse("its parallel blocks norm what they add");
  if (layer.ple_gate.data || layer.output_scale.data)
    return refuse(
        "layers with per-layer embeddings, or that scale what they leave, are computed by the CPU "
        "backend alone");
  if (layer.mixture.n_experts != 0)
    return refuse("mixtures of experts are computed by the CPU backend alone");
  if (layer.sinks.data) return refuse("attention with sinks is computed by the CPU backend alone");
  if ((layer.ffn.gate.data != nullptr) != (d.layers[0].ffn.gate.data != nullptr))
    return refuse("some of its layers are gated and others are not");
  return ok();
}

Status check_heads(const pc_layer& d, std::uint32_t kv_type) {
  if (!d.n_kv_heads || !d.n_heads || d.n_heads % d.n_kv_heads != 0) {
    return refuse(std::to_string(d.n_heads) + " heads do not share " +
                  std::to_string(d.n_kv_heads) + " key/value heads evenly");
  }
  if (!d.head_dim || d.head_dim % 2 != 0 || d.head_dim > kMaxHeadDim) {
    return refuse("head_dim is " + std::to_string(d.head_dim) + "; it may be even and at most " +
                  std::to_string(kMaxHeadDim));
  }
  const bool q8 = kv_type == static_cast<std::uint32_t>(KvType::kQ8);
  const bool q4 = kv_type == static_cast<std::uint32_t>(KvType::kQ4);
  const std::uint32_t unit = q8 ? 4 : q4 ? kLineDims : 1;
  if (d.head_dim % unit != 0) {
    return refuse("head_dim is " + std::to_string(d.head_dim) + ", and states of type " +
                  (q8 ? "q8" : "q4") + " want a multiple of " + std::to_string(unit) +
                  "; bf16 takes it");
  }
  return ok();
}

}  // namespace

Status check_model(const pc_model_desc& d, std::uint32_t kv_type) {
  if (d.struct_size < sizeof(pc_model_desc)) return refuse("its description is of another version");
  if (kv_type < static_cast<std::uint32_t>(KvType::kF32) ||
      kv_type > static_cast<std::uint32_t>(KvType::kQ4))
    return refuse("K/V type " + std::to_string(kv_type) + " is unknown");
  if (!d.n_layers || !d.d_model || !d.d_ffn || !d.vocab_size) return refuse("a size is zero");
  PC_CHECK_OK(check_heads(d.layers[0], kv_type));
  if (d.norm > PC_NORM_LAYER || d.activation > PC_ACTIVATION_GELU_TANH)
    return refuse("its norm or activation is unknown");
  if (d.d_ple != 0 || d.query_growth != 0.0f)
    return refuse(
        "per-layer embeddings, and queries that grow with their position, are computed by the CPU "
        "backend alone");
  if (d.attn_out_scale != 1.0f || d.ffn_out_scale != 1.0f || d.ffn_gate_scale != 1.0f)
    return refuse("factors of what layers make are computed by the CPU backend alone");
  if (d.parallel && d.residual_scale != 1.0f)
    return refuse("its parallel blocks scale what they add");
  for (std::uint32_t i = 0; i < d.n_ropes; ++i) {
    const std::uint32_t dims = d.ropes[i].dims;
    if (dims == 0 || dims > d.layers[0].head_dim || dims % 2 != 0) {
      return refuse(std::to_string(dims) + " rotated dimensions do not fit a head of " +
                    std::to_string(d.layers[0].head_dim));
    }
  }
  PC_CHECK_OK(check_types({&d.embedding, &d.position_embedding, &d.lm_head}));
  for (std::uint32_t i = 0; i < d.n_layers; ++i) PC_CHECK_OK(check_layer(d, d.layers[i]));
  return ok();
}

}  // namespace pc::cuda
