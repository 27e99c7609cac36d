// A family of models: what only it has in config.json and in GGUF's metadata,
// and what its tensors are called in both formats. One file in this folder for
// each, or for kin, and one entry in the table of runtime/model/family_registry.cc.
//
// Static data. Threads: any.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "runtime/json/json.h"
#include "runtime/model/shape/decoder_binder.h"  // TensorNames
#include "runtime/model/shape/gguf_config.h"     // GgufKeys
#include "runtime/model/shape/gguf_mixture.h"
#include "runtime/model/shape/model_config.h"

namespace pc {

struct Family {
  std::string_view name;          // "llama"
  std::string_view architecture;  // as config.json names it: "LlamaForCausalLM"; "": GGUF alone
  std::string_view other_architecture = {};  // another name of what is read alike; "" = none
  ConfigFields fields;
  bool several_media = false;  // of which the text is computed: config.json may nest it
  // Sets the family's part of `out` and refuses what it cannot honour.
  Status (*configure)(JsonView config, ModelConfig* out);
  TensorNames (*names)(const ModelConfig& config);

  std::string_view gguf_architecture;  // general.architecture; "" = read as another family
  bool gguf_rotates = true;            // positions are a RoPE, the same for all layers
  Status (*configure_gguf)(const GgufKeys& keys, ModelConfig* out) = nullptr;
  TensorNames (*gguf_names)(const ModelConfig& config) = nullptr;
};

// For the tables of names.
inline TensorNames llama_names(const ModelConfig&) {
  return kLlamaNames;
}
inline TensorNames gguf_fused_names(const ModelConfig&) {
  TensorNames names = kGgufNames;
  names.qkv = "attn_qkv";
  return names;
}
// Some converters fuse what the architecture has apart.
inline TensorNames gguf_names(const ModelConfig& config) {
  return config.fused_qkv ? gguf_fused_names(config) : kGgufNames;
}

// Mixtures as DeepSeek V3 has them, and GLM since 4.5: chosen by sigmoids and a bias, out of groups
// that are as good as their two best; with layers behind the last, which guess at later tokens.
// Sets what config.json says of these beside the mixture that was read.
inline Status choose_by_sigmoids(JsonView config, ModelConfig* out) {
  PC_TRY(out->mixture.normalised, config.boolean_or("norm_topk_prob", true));
  out->mixture.routing = PC_ROUTING_SIGMOID;
  out->mixture.group_best = 2;
  out->mixture.choice_bias = true;
  const char* const further =
      config.find("num_mtp_layers") ? "num_mtp_layers" : "num_nextn_predict_layers";
  PC_TRY(const std::int64_t n_further, config.integer_or(further, 1));
  if (n_further < 0 || n_further > out->n_layers)
    return config.error(Code::kUnsupported,
                        std::string(further) + " is " + std::to_string(n_further));
  out->n_further_layers = static_cast<std::uint32_t>(n_further);
  return ok();
}

inline TensorNames sigmoid_mixture_names(const ModelConfig&) {
  TensorNames names = kLlamaNames;
  names.choice_bias = "mlp.gate.e_score_correction_bias";
  names.shared_gate = "mlp.shared_experts.gate_proj";
  names.shared_up = "mlp.shared_experts.up_proj";
  names.shared_down = "mlp.shared_experts.down_proj";
  return names;
}

// For models whose layers with a window have a RoPE of their own: ropes[0] is that of layers that
// see all, ropes[1] that of the others.
inline void choose_ropes(RopeConfig full, RopeConfig sliding, ModelConfig* out) {
  out->ropes = {std::move(full), std::move(sliding)};
  for (std::uint32_t i = 0; i < out->n_layers; ++i)
    out->layer_ropes[i] = out->windows[i] == 0 ? 0 : 1;
}

// The text of a model of several media: names as transformers 5 nests them, as 4 did, and as they
// were before. The parts that see are not computed.
inline TensorNames text_names(TensorNames names) {
  using Prefixes = std::pair<std::string_view, std::string_view>;
  static constexpr std::array<Prefixes, 3> kOthers{{{"model.", "model.language_model."},
                                                    {"model.", "language_model.model."},
                                                    {"lm_head.", "language_model.lm_head."}}};
  static constexpr std::array<std::string_view, 11> kPassedOver{"visual.",
                                                                "mtp.",
                                                                "model.audio_tower.",
                                                                "model.embed_audio.",
                                                                "model.embed_vision.",
                                                                "audio_tower.",
                                                                "model.visual.",
                                                                "vision_tower.",
                                                                "model.vision_tower.",
                                                                "multi_modal_projector.",
                                                                "model.multi_modal_projector."};
  names.optional_base = "";
  names.other_prefixes = kOthers;
  names.passed_over = kPassedOver;
  return names;
}

}  // namespace pc
