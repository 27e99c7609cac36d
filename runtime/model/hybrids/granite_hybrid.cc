// Granite 4 H: Mamba-2 (arXiv 2405.21060) in most layers, attention without positions in the
// others; networks alone, or mixtures beside them.
#include "runtime/model/families/family.h"
#include "runtime/model/hybrids/granite.h"
#include "runtime/model/hybrids/hybrid.h"
#include "runtime/model/hybrids/mamba2.h"

namespace pc {
namespace {

Result<std::vector<bool>> read_layers(JsonView config, std::uint32_t n_layers) {
  auto types = config.find("layer_types");
  if (!types) types = config.find("layers_block_type");
  if (!types) return config.error(Code::kCorrupt, "layer_types is missing");
  return read_layer_kinds(*types, {"mamba", "attention", "linear_attention", "full_attention"},
                          n_layers);
}

Status configure(JsonView config, ModelConfig* out) {
  PC_CHECK_OK(configure_granite(config, out));
  PC_CHECK_OK(check_step_limits(config));
  PC_CHECK_OK(check_silu(config, *out));
  PC_TRY(const std::uint32_t expand, read_count(config, "mamba_expand", 2, 256));
  PC_TRY(RecurrentConfig r, read_mamba2(config, {}, std::uint64_t{expand} * out->d_model));
  PC_TRY(r.layers, read_layers(config, out->n_layers));
  out->recurrent = std::move(r);
  PC_TRY(const std::string positions, config.string_or("position_embedding_type", "nope"));
  if (positions != "rope") drop_ropes(out);
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
  name_mamba2(&names);
  return names;
}

// Layers without heads for keys and values are Mamba's.
Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  PC_CHECK_OK(configure_granite_gguf(keys, out));
  PC_TRY(RecurrentConfig r, read_gguf_mamba2(keys, out->n_layers));
  r.layers = std::move(out->recurrent.layers);
  if (r.layers.empty()) r.layers.assign(out->n_layers, false);
  out->recurrent = std::move(r);
  PC_TRY(const bool rotates,
         keys.metadata().boolean_or(keys.full("rope.scaling.finetuned"), false));
  if (!rotates) drop_ropes(out);
  PC_TRY(out->mixture, read_gguf_mixture(keys, {.normalised = true}, out->n_layers, out->d_ffn));
  return ok();
}

TensorNames names_in_gguf(const ModelConfig&) {
  TensorNames names = kGgufNames;
  name_gguf_mamba2(&names);
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
