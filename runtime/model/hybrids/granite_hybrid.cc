// Granite 4 H: Mamba-2 (arXiv 2405.21060) in most layers, attention without positions in the
// others; networks alone, or mixtures beside them.
#include "runtime/model/families/family.h"
#include "runtime/model/hybrids/granite.h"

namespace pc {
namespace {

constexpr std::uint32_t kMost = 1 << 16, kMostTaps = 64;

void set_common(RecurrentConfig r, ModelConfig* out) {
  r.kind = PC_RECURRENCE_MAMBA2;
  r.n_channels = r.n_values() + 2 * r.n_keys();
  r.norm_dims = r.n_values() / r.n_key_heads;
  out->recurrent = std::move(r);
}

bool fit(const RecurrentConfig& r) {
  constexpr std::uint64_t kMostNumbers = 1 << 28;
  return r.n_heads % r.n_key_heads == 0 && std::uint64_t{r.n_heads} * r.d_v <= kMostNumbers &&
         std::uint64_t{r.n_key_heads} * r.d_k <= kMostNumbers;
}

Result<std::uint32_t> read_number(JsonView config, std::string_view key, std::int64_t absent,
                                  std::int64_t most) {
  PC_TRY(const std::int64_t n, config.integer_or(key, absent));
  if (n >= 1 && n <= most) return static_cast<std::uint32_t>(n);
  return config.error(Code::kUnsupported, std::string(key) + " is " + std::to_string(n));
}

// "mamba" and "attention", as transformers 5 writes them or as it did before.
Result<std::vector<bool>> read_layers(JsonView config, std::uint32_t n_layers) {
  std::vector<bool> layers;
  auto types = config.find("layer_types");
  if (!types) types = config.find("layers_block_type");
  if (!types || !types->is_array() || types->size() != n_layers)
    return config.error(Code::kCorrupt,
                        "layer_types is not a list of " + std::to_string(n_layers) + " layers");
  for (std::size_t i = 0; i < n_layers; ++i) {
    PC_TRY(const std::string_view type, types->at(i).string());
    const bool recurs = type == "mamba" || type == "linear_attention";
    if (!recurs && type != "attention" && type != "full_attention")
      return types->at(i).error(
          Code::kUnsupported, "is \"" + std::string(type) + "\"; mamba and attention are computed");
    layers.push_back(recurs);
  }
  return layers;
}

// Steps that are cut: neither of the published models has such.
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
  PC_TRY(const bool bias, config.boolean_or("mamba_proj_bias", false));
  if (bias)
    return config.error(Code::kUnsupported,
                        "mamba_proj_bias gives projections biases, which are not computed");
  RecurrentConfig r{.a_is_log = true};
  PC_TRY(r.conv_bias, config.boolean_or("mamba_conv_bias", true));
  PC_TRY(r.n_taps, read_number(config, "mamba_d_conv", 4, kMostTaps));
  PC_TRY(r.n_heads, read_number(config, "mamba_n_heads", 128, kMost));
  PC_TRY(r.n_key_heads, read_number(config, "mamba_n_groups", 1, kMost));
  PC_TRY(r.d_k, read_number(config, "mamba_d_state", 256, kMost));
  PC_TRY(const std::uint32_t expand, read_number(config, "mamba_expand", 2, 256));
  const std::uint64_t values = std::uint64_t{expand} * out->d_model;
  r.d_v = static_cast<std::uint32_t>(values / r.n_heads);
  if (values % r.n_heads != 0 || r.d_v == 0 || !fit(r))
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
    PC_TRY(out->d_ffn, read_number(config, "shared_intermediate_size", 1024, 1 << 24));
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
  PC_TRY(r.n_taps, keys.extent("ssm.conv_kernel", kMostTaps));
  PC_TRY(r.n_heads, keys.extent("ssm.time_step_rank", kMost));
  PC_TRY(r.n_key_heads, keys.extent("ssm.group_count", kMost));
  PC_TRY(r.d_k, keys.extent("ssm.state_size", kMost));
  PC_TRY(const std::uint32_t values, keys.extent("ssm.inner_size", 1 << 24));
  r.d_v = values / r.n_heads;
  if (values % r.n_heads != 0 || r.d_v == 0 || !fit(r))
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
