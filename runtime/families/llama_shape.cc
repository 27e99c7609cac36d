#include "runtime/families/llama_shape.h"

#include <string>

namespace pc {
namespace {

// A projection of [rows, cols] and its bias where there is one.
Status bind_linear(TensorBinder& tensors, const std::string& name, std::uint32_t rows,
                   std::uint32_t cols, bool has_bias, pc_tensor* weight, pc_tensor* bias) {
  PC_TRY(*weight, tensors.matrix(name + ".weight", rows, cols));
  if (!has_bias) return ok();
  PC_TRY(*bias, tensors.vector(name + ".bias", rows));
  return ok();
}

Status bind_attention(const ModelConfig& c, TensorBinder& tensors, const std::string& prefix,
                      pc_layer* layer) {
  const std::uint32_t q = c.n_heads * c.head_dim, kv = c.n_kv_heads * c.head_dim;
  PC_CHECK_OK(
      bind_linear(tensors, prefix + "q_proj", q, c.d_model, c.qkv_bias, &layer->wq, &layer->bq));
  PC_CHECK_OK(
      bind_linear(tensors, prefix + "k_proj", kv, c.d_model, c.qkv_bias, &layer->wk, &layer->bk));
  PC_CHECK_OK(
      bind_linear(tensors, prefix + "v_proj", kv, c.d_model, c.qkv_bias, &layer->wv, &layer->bv));
  PC_CHECK_OK(
      bind_linear(tensors, prefix + "o_proj", c.d_model, q, c.o_bias, &layer->wo, &layer->bo));
  if (!c.qk_norm) return ok();
  PC_TRY(layer->q_norm, tensors.vector(prefix + "q_norm.weight", c.head_dim));
  PC_TRY(layer->k_norm, tensors.vector(prefix + "k_norm.weight", c.head_dim));
  return ok();
}

Status bind_ffn(const ModelConfig& c, TensorBinder& tensors, const std::string& prefix,
                pc_layer* layer) {
  PC_CHECK_OK(bind_linear(tensors, prefix + "gate_proj", c.d_ffn, c.d_model, c.ffn_bias,
                          &layer->w_gate, &layer->b_gate));
  PC_CHECK_OK(bind_linear(tensors, prefix + "up_proj", c.d_ffn, c.d_model, c.ffn_bias, &layer->w_up,
                          &layer->b_up));
  return bind_linear(tensors, prefix + "down_proj", c.d_model, c.d_ffn, c.ffn_bias, &layer->w_down,
                     &layer->b_down);
}

Result<pc_layer> bind_layer(const ModelConfig& c, TensorBinder& tensors, std::uint32_t index) {
  const std::string prefix = "model.layers." + std::to_string(index) + ".";
  pc_layer layer{};
  PC_TRY(layer.attn_norm, tensors.vector(prefix + "input_layernorm.weight", c.d_model));
  PC_CHECK_OK(bind_attention(c, tensors, prefix + "self_attn.", &layer));
  PC_TRY(layer.ffn_norm, tensors.vector(prefix + "post_attention_layernorm.weight", c.d_model));
  PC_CHECK_OK(bind_ffn(c, tensors, prefix + "mlp.", &layer));
  layer.window = c.windows[index];
  return layer;
}

}  // namespace

Status bind_llama_shape(const ModelConfig& config, TensorBinder& tensors, Model* model) {
  const std::string embedding = "model.embed_tokens.weight", head = "lm_head.weight";
  pc_model_desc& desc = model->desc;
  PC_TRY(desc.embedding, tensors.matrix(embedding, config.vocab_size, config.d_model));
  for (std::uint32_t i = 0; i < config.n_layers; ++i) {
    PC_TRY(const pc_layer layer, bind_layer(config, tensors, i));
    model->layers.push_back(layer);
  }
  PC_TRY(desc.final_norm, tensors.vector("model.norm.weight", config.d_model));
  if (config.tied_embeddings) {
    desc.lm_head = desc.embedding;
    return tensors.skip_copy(head, embedding);
  }
  PC_TRY(desc.lm_head, tensors.matrix(head, config.vocab_size, config.d_model));
  return ok();
}

}  // namespace pc
