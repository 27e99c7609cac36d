#include "runtime/model/shape/decoder_binder.h"

#include <string>

namespace pc {

const TensorNames kLlamaNames{
    .layer_prefix = "model.layers.",
    .embedding = "model.embed_tokens",
    .positions = "",
    .final_norm = "model.norm",
    .head = "lm_head",
    .attn_norm = "input_layernorm",
    .q = "self_attn.q_proj",
    .k = "self_attn.k_proj",
    .v = "self_attn.v_proj",
    .qkv = "",
    .q_norm = "self_attn.q_norm",
    .k_norm = "self_attn.k_norm",
    .o = "self_attn.o_proj",
    .attn_post_norm = "post_attention_layernorm",
    .ffn_norm = "post_attention_layernorm",
    .gate = "mlp.gate_proj",
    .up = "mlp.up_proj",
    .gate_up = "",
    .down = "mlp.down_proj",
    .ffn_post_norm = "post_feedforward_layernorm",
    .optional_base = "model.",  // which checkpoints of models that embed leave out
};

const TensorNames kGgufNames{
    .layer_prefix = "blk.",
    .embedding = "token_embd",
    .positions = "position_embd",
    .final_norm = "output_norm",
    .head = "output",
    .attn_norm = "attn_norm",
    .q = "attn_q",
    .k = "attn_k",
    .v = "attn_v",
    .qkv = "",
    .q_norm = "attn_q_norm",
    .k_norm = "attn_k_norm",
    .o = "attn_output",
    .attn_post_norm = "post_attention_norm",
    .ffn_norm = "ffn_norm",
    .gate = "ffn_gate",
    .up = "ffn_up",
    .gate_up = "",
    .down = "ffn_down",
    .ffn_post_norm = "post_ffw_norm",
};

namespace {

// Everything of one layer.
class LayerBinder {
 public:
  LayerBinder(const ModelConfig& config, const TensorNames& names, TensorBinder& tensors,
              std::uint32_t index)
      : c_(config),
        names_(names),
        tensors_(tensors),
        prefix_(std::string(names.layer_prefix) + std::to_string(index) + ".") {
    layer_.window = config.windows[index];
    layer_.rope = config.layer_ropes[index];
  }

  Result<pc_layer> bind() {
    if (c_.pre_norms)
      PC_CHECK_OK(norm(names_.attn_norm, &layer_.attn_norm, &layer_.attn_norm_bias));
    PC_CHECK_OK(names_.qkv.empty() ? separate_qkv() : fused_qkv());
    PC_CHECK_OK(head_norms());
    PC_CHECK_OK(linear(names_.o, c_.d_model, q_rows(), c_.o_bias, &layer_.wo, &layer_.bo));
    if (c_.pre_norms && (!c_.parallel || c_.parallel_norms))
      PC_CHECK_OK(norm(names_.ffn_norm, &layer_.ffn_norm, &layer_.ffn_norm_bias));
    PC_CHECK_OK(feed_forward());
    if (c_.post_norms) {
      PC_TRY(layer_.attn_post_norm, vector(names_.attn_post_norm, ".weight", c_.d_model));
      PC_TRY(layer_.ffn_post_norm, vector(names_.ffn_post_norm, ".weight", c_.d_model));
    }
    return layer_;
  }

 private:
  std::uint32_t q_rows() const { return c_.n_heads * c_.head_dim; }
  std::uint32_t kv_rows() const { return c_.n_kv_heads * c_.head_dim; }

  Result<pc_tensor> vector(std::string_view name, const char* ending, std::uint32_t n) {
    return tensors_.vector(prefix_ + std::string(name) + ending, n);
  }
  Result<pc_tensor> matrix(std::string_view name, std::uint32_t rows, std::uint32_t cols) {
    const std::string full = prefix_ + std::string(name) + ".weight";
    return names_.transposed ? tensors_.transposed(full, rows, cols)
                             : tensors_.matrix(full, rows, cols);
  }

  Status norm(std::string_view name, pc_tensor* weight, pc_tensor* bias) {
    PC_TRY(*weight, vector(name, ".weight", c_.d_model));
    if (!c_.norm_bias) return ok();
    PC_TRY(*bias, vector(name, ".bias", c_.d_model));
    return ok();
  }

  Status linear(std::string_view name, std::uint32_t rows, std::uint32_t cols, bool has_bias,
                pc_tensor* weight, pc_tensor* bias) {
    PC_TRY(*weight, matrix(name, rows, cols));
    if (!has_bias) return ok();
    PC_TRY(*bias, vector(name, ".bias", rows));
    return ok();
  }

  Status separate_qkv() {
    PC_CHECK_OK(linear(names_.q, q_rows(), c_.d_model, c_.q_bias, &layer_.wq, &layer_.bq));
    PC_CHECK_OK(linear(names_.k, kv_rows(), c_.d_model, c_.k_bias, &layer_.wk, &layer_.bk));
    return linear(names_.v, kv_rows(), c_.d_model, c_.v_bias, &layer_.wv, &layer_.bv);
  }

  Status fused_qkv() {
    pc_tensor weight{}, bias{};
    PC_CHECK_OK(
        linear(names_.qkv, q_rows() + 2 * kv_rows(), c_.d_model, c_.q_bias, &weight, &bias));
    if (names_.qkv_by_group) {
      const std::uint32_t group = c_.n_heads / c_.n_kv_heads;
      PC_TRY(weight, tensors_.ungrouped(weight, c_.n_kv_heads, group, c_.head_dim));
      if (bias.data) {  // a column of as many rows
        bias.rows = bias.cols;
        bias.cols = 1;
        PC_TRY(bias, tensors_.ungrouped(bias, c_.n_kv_heads, group, c_.head_dim));
      }
    }
    layer_.wq = rows_of(weight, 0, q_rows());
    layer_.wk = rows_of(weight, q_rows(), kv_rows());
    layer_.wv = rows_of(weight, q_rows() + kv_rows(), kv_rows());
    if (!bias.data) return ok();
    bias.rows = q_rows() + 2 * kv_rows();
    bias.cols = 1;
    layer_.bq = as_vector(rows_of(bias, 0, q_rows()));
    layer_.bk = as_vector(rows_of(bias, q_rows(), kv_rows()));
    layer_.bv = as_vector(rows_of(bias, q_rows() + kv_rows(), kv_rows()));
    return ok();
  }

  Status head_norms() {
    if (c_.head_norm == HeadNorm::kNone) return ok();
    const bool all = c_.head_norm == HeadNorm::kAll;
    PC_TRY(layer_.q_norm, vector(names_.q_norm, ".weight", all ? q_rows() : c_.head_dim));
    PC_TRY(layer_.k_norm, vector(names_.k_norm, ".weight", all ? kv_rows() : c_.head_dim));
    return ok();
  }

  Status feed_forward() {
    if (!names_.gate_up.empty()) {
      PC_TRY(const pc_tensor both, matrix(names_.gate_up, 2 * c_.d_ffn, c_.d_model));
      layer_.w_gate = rows_of(both, 0, c_.d_ffn);
      layer_.w_up = rows_of(both, c_.d_ffn, c_.d_ffn);
    } else {
      if (c_.gated) {
        PC_CHECK_OK(
            linear(names_.gate, c_.d_ffn, c_.d_model, c_.ffn_bias, &layer_.w_gate, &layer_.b_gate));
      }
      PC_CHECK_OK(linear(names_.up, c_.d_ffn, c_.d_model, c_.ffn_bias, &layer_.w_up, &layer_.b_up));
    }
    return linear(names_.down, c_.d_model, c_.d_ffn, c_.ffn_bias, &layer_.w_down, &layer_.b_down);
  }

  static pc_tensor as_vector(pc_tensor column) {
    return {column.data, column.dtype, 1, column.rows};
  }

  const ModelConfig& c_;
  const TensorNames& names_;
  TensorBinder& tensors_;
  std::string prefix_;
  pc_layer layer_{};
};

}  // namespace

Result<Decoder> bind_decoder(const ModelConfig& config, const TensorNames& names,
                             TensorBinder& tensors) {
  const auto weight = [](std::string_view name) { return std::string(name) + ".weight"; };
  Decoder decoder;
  tensors.allow_missing(names.optional_base);
  PC_TRY(decoder.embedding,
         tensors.matrix(weight(names.embedding), config.vocab_size, config.d_model));
  if (config.learned_positions) {
    PC_TRY(decoder.position_embedding,
           tensors.matrix(weight(names.positions), config.context_tokens, config.d_model));
  }
  for (std::uint32_t i = 0; i < config.n_layers; ++i) {
    PC_TRY(const pc_layer layer, LayerBinder(config, names, tensors, i).bind());
    decoder.layers.push_back(layer);
  }
  PC_TRY(decoder.final_norm, tensors.vector(weight(names.final_norm), config.d_model));
  if (config.norm_bias) {
    PC_TRY(decoder.final_norm_bias,
           tensors.vector(std::string(names.final_norm) + ".bias", config.d_model));
  }
  if (config.tied_embeddings) {
    decoder.lm_head = decoder.embedding;
    PC_CHECK_OK(tensors.skip_copy(weight(names.head), weight(names.embedding)));
  } else {
    PC_TRY(decoder.lm_head, tensors.matrix(weight(names.head), config.vocab_size, config.d_model));
  }
  return decoder;
}

}  // namespace pc
