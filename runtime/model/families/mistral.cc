// Mistral 7B and kin: Llama with one sliding window for all layers, or none. In
// GGUF it is written as a Llama, without the window. Mixtral: with a mixture of experts in every
// layer. Ministral 3: with YaRN. Mistral Small 3.1 and Ministral 3 come as models that see, too.
#include <array>
#include <cmath>

#include "runtime/model/families/family.h"

namespace pc {
namespace {

constexpr std::uint32_t kDefaultWindow = 4096;  // of the first release, whose files may not say it

constexpr double kMinistralNormEps = 1e-5;

constexpr std::array<std::string_view, 2> kHonoured{"num_experts", "num_local_experts"};
constexpr MixtureFields kMixtureFields{.d_expert = "intermediate_size"};

Status configure(JsonView config, ModelConfig* out) {
  PC_TRY(const std::uint32_t window, read_window(config, kDefaultWindow));
  out->windows.assign(out->n_layers, window);
  PC_TRY(const auto sliding, read_sliding_layers(config, out->n_layers));
  if (!sliding) return ok();
  for (const bool layer : *sliding) {
    if (layer != (window != 0)) {
      return config.error(Code::kUnsupported,
                          "layer_types and sliding_window of MistralForCausalLM disagree");
    }
  }
  return ok();
}

Status configure_mixture(JsonView config, ModelConfig* out) {
  PC_TRY(out->mixture, read_mixture_config(config, kMixtureFields, out->n_layers));
  out->mixture.normalised = true;
  PC_TRY(const std::uint32_t window, read_window(config, 0));
  out->windows.assign(out->n_layers, window);
  return ok();
}

// Ministral 3 has queries grow with the logarithm of how often their position has passed the
// context that was trained first.
Status grow_queries(double growth, double positions, ModelConfig* out) {
  if (growth == 0) return ok();
  if (!(positions >= 1 && positions <= 1 << 30))
    return error(Code::kUnsupported, "queries grow every " + std::to_string(positions) +
                                         " positions, which is no number of positions");
  out->query_growth = growth;
  out->growth_positions = static_cast<std::uint32_t>(positions);
  return ok();
}

Status configure_ministral(JsonView config, ModelConfig* out) {
  PC_TRY(const JsonView rope, config.member("rope_parameters"));
  PC_TRY(const double beta, rope.number_or("llama_4_scaling_beta", 0));
  PC_CHECK_OK(grow_queries(beta, out->ropes[0].original_context, out));
  PC_TRY(out->norm_eps, config.number_or("rms_norm_eps", kMinistralNormEps));
  PC_TRY(const std::uint32_t window, read_window(config, 0));
  out->windows.assign(out->n_layers, window);
  return ok();
}

Status configure_seeing(JsonView config, ModelConfig* out) {
  PC_TRY(const std::string type, config.string_or("model_type", "mistral"));
  if (type == "mistral") return configure(config, out);
  if (type == "ministral3") return configure_ministral(config, out);
  return config.error(Code::kUnsupported,
                      "the text is of type \"" + type + "\"; mistral and ministral3 are computed");
}

TensorNames seeing_names(const ModelConfig&) {
  return text_names(kLlamaNames);
}

Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  out->rope_interleaved = true;
  PC_TRY(const double growth, keys.number_or("attention.temperature_scale", 0));
  PC_TRY(const double positions,
         keys.number_or("attention.temperature_length", out->ropes[0].original_context));
  PC_CHECK_OK(grow_queries(growth, positions, out));
  // mscale_all_dim, by which the factor of attention is divided.
  PC_TRY(const double all, keys.number_or("rope.scaling.yarn_log_multiplier", 0));
  RopeConfig& rope = out->ropes[0];
  if (all != 0 && rope.attention_factor && rope.factor > 1)
    *rope.attention_factor /= 0.1 * all * std::log(rope.factor) + 1;
  return ok();
}

TensorNames mixture_names(const ModelConfig&) {
  TensorNames names = kLlamaNames;
  names.router = "block_sparse_moe.gate";
  names.expert_prefix = "block_sparse_moe.experts.";
  names.expert_gate = "w1";
  names.expert_up = "w3";
  names.expert_down = "w2";
  return names;
}

}  // namespace

extern const Family kMistral{.name = "mistral",
                             .architecture = "MistralForCausalLM",
                             .fields = {},
                             .configure = configure,
                             .names = llama_names,
                             .gguf_architecture = ""};

extern const Family kMixtral{
    .name = "mixtral",
    .architecture = "MixtralForCausalLM",
    .fields = {.default_norm_eps = 1e-5, .default_theta = 1000000, .honoured = kHonoured},
    .configure = configure_mixture,
    .names = mixture_names,
    .gguf_architecture = ""};

extern const Family kMinistral3{.name = "mistral3",
                                .architecture = "Ministral3ForCausalLM",
                                .fields = {.default_head_dim = 128},
                                .configure = configure_ministral,
                                .names = llama_names,
                                .gguf_architecture = "mistral3",
                                .configure_gguf = configure_gguf,
                                .gguf_names = gguf_names};

extern const Family kMistral3{.name = "mistral3",
                              .architecture = "Mistral3ForConditionalGeneration",
                              .fields = {},
                              .several_media = true,
                              .configure = configure_seeing,
                              .names = seeing_names,
                              .gguf_architecture = ""};

}  // namespace pc
