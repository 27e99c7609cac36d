// Granite 4 H: Mamba-2 (arXiv 2405.21060) in most layers, attention without positions in the
// others; networks alone, or mixtures beside them.
#include "runtime/model/families/family.h"
#include "runtime/model/hybrids/granite.h"
#include "runtime/model/hybrids/hybrid.h"

namespace pc {
namespace {

void set_common(RecurrentConfig r, ModelConfig* out) {
  r.kind = PC_RECURRENCE_MAMBA2;
  r.n_channels = r.n_values() + 2 * r.n_keys();
  r.norm_dims = r.n_values() / r.n_key_heads;
  out->recurrent = std::move(r);
}

Result<std::vector<bool>> read_layers(JsonView config, std::uint32_t n_layers) {
  auto types = config.find("layer_types");
  if (!types) types = config.find("layers_block_type");
  if (!types) return config.error(Code::kCorrupt, "layer_types is missing");
  return read_layer_kinds(*types, {"mamba", "attention", "linear_attention", "full_attention"},
                          n_layers);
}

// Steps that are cut: none of the published models has such.
Status check_steps(JsonView config) {
  const auto limits = config.find("time_step_limit");
  if (!limits || !limits->is_array()) return ok();
  for (std::size_t i = 0; i < limits->size(); ++i) {
    if (!limits->at(i).is_number()) continue;  // how transformers spells infinity
    PC_TRY(const double limit, limits->at(i).number());
    if (i == 0 && limit == 0) continue;
    return limits->error(Code::kUnsupported, "cuts steps, which is not computed for this family");
  }
  return ok();
}

Status configure(JsonView config, ModelConfig* out) {
  PC_CHECK_OK(configure_granite(config, out));
  PC_CHECK_OK(check_steps(config));
  PC_CHECK_OK(check_silu(config, *out));
  PC_TRY(const bool bias, config.boolean_or("mamba_proj_bias", false));
  if (bias)
    return config.error(Code::kUnsupported,
                        "mamba_proj_bias gives projections biases, which are not computed");
  RecurrentConfig r{.a_is_log = true};
  PC_TRY(r.conv_bias, config.boolean_or("mamba_conv_bias", true));
  PC_TRY(r.n_taps, read_count(config, "mamba_d_conv", 4, kMostConvolutionTaps));
  PC_TRY(r.n_heads, read_count(config, "mamba_n_heads", 128, kMostStateHeads));
  PC_TRY(r.n_key_heads, read_count(config, "mamba_n_groups", 1, kMostStateHeads));
  PC_TRY(r.d_k, read_count(config, "mamba_d_state", 256, kMostStateHeads));
  PC_TRY(const std::uint32_t expand, read_count(config, "mamba_expand", 2, 256));
  const std::uint64_t values = std::uint64_t{expand} * out->d_model;
  r.d_v = static_cast<std::uint32_t>(values / r.n_heads);
  if (values % r.n_heads != 0 || r.d_v == 0 || !heads_fit(r))
    return config.error(Code::kUnsupported, "mamba_n_heads do not share the layer evenly");
  PC_TRY(r.layers, read_layers(config, out->n_layers));
  set_common(std::move(r), out);
  PC_TRY(const std::string positions, config.string_or("position_embedding_type", "nope"));
  if (positions != "rope") {
    out->ropes.clear();
    out->layer_ropes.assign(out->n_layers, PC_NO_ROPE);
  }
  PC_TRY(const std::int64_t n_experts, config.integer_or("num_local_experts", 8));
  if (n_experts == 0) {
    PC_TRY(out->d_ffn, read_count(config, "shared_intermediate_size", 1024, 1 << 24));
    return ok();
  }
  PC_TRY(out->mixture, read_mixture_config(config, kGraniteMixture, out->n_layers));
  out->mixture.normalised = true;
  return ok();
}

TensorNames names(const ModelConfig& config) {
  TensorNames names = granite_mixture_names();
  if (config.mixture.n_experts == 0) {
    names.gate_up = "shared_mlp.input_linear";
    names.down = "shared_mlp.output_linear";
  }
  names.conv = "mamba.conv1d";
  names.gate_in_decay = "mamba.in_proj";
  names.decay_rate = "mamba.A_log";
  names.step_bias = "mamba.dt_bias";
  names.recurrent_skip = "mamba.D";
  names.recurrent_norm = "mamba.norm";
  names.recurrent_out = "mamba.out_proj";
  return names;
}

// Layers without heads for keys and values are Mamba's.
Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  PC_CHECK_OK(configure_granite_gguf(keys, out));
  RecurrentConfig r;
  r.layers = std::move(out->recurrent.layers);
  if (r.layers.empty()) r.layers.assign(out->n_layers, false);
  PC_TRY(r.n_taps, keys.extent("ssm.conv_kernel", kMostConvolutionTaps));
  PC_TRY(r.n_heads, keys.extent("ssm.time_step_rank", kMostStateHeads));
  PC_TRY(r.n_key_heads, keys.extent("ssm.group_count", kMostStateHeads));
  PC_TRY(r.d_k, keys.extent("ssm.state_size", kMostStateHeads));
  PC_TRY(const std::uint32_t values, keys.extent("ssm.inner_size", 1 << 24));
  r.d_v = values / r.n_heads;
  if (values % r.n_heads != 0 || r.d_v == 0 || !heads_fit(r))
    return keys.error(Code::kUnsupported, "ssm.time_step_rank",
                      "heads do not share ssm.inner_size evenly");
  for (std::uint32_t i = 0; i < out->n_layers && !r.conv_bias; ++i)
    r.conv_bias = keys.has_tensor("blk." + std::to_string(i) + ".ssm_conv1d.bias");
  set_common(std::move(r), out);
  PC_TRY(const bool rotates,
         keys.metadata().boolean_or(keys.full("rope.scaling.finetuned"), false));
  if (!rotates) {
    out->ropes.clear();
    out->layer_ropes.assign(out->n_layers, PC_NO_ROPE);
  }
  PC_TRY(out->mixture, read_gguf_mixture(keys, {.normalised = true}, out->n_layers, out->d_ffn));
  return ok();
}

TensorNames names_in_gguf(const ModelConfig&) {
  TensorNames names = kGgufNames;
  names.conv = "ssm_conv1d";
  names.gate_in_decay = "ssm_in";
  names.decay_rate = "ssm_a";
  names.step_bias = "ssm_dt.bias";
  names.recurrent_skip = "ssm_d";
  names.recurrent_norm = "ssm_norm";
  names.recurrent_out = "ssm_out";
  return names;
}

}  // namespace

extern const Family kGraniteHybrid{.name = "granitehybrid",
                                   .architecture = "GraniteMoeHybridForCausalLM",
                                   .fields = {.honoured = kGraniteHonoured},
                                   .configure = configure,
                                   .names = names,
                                   .gguf_architecture = "granitehybrid",
                                   .configure_gguf = configure_gguf,
                                   .gguf_names = names_in_gguf};

}  // namespace pc
