// A family of models: what only it has in config.json and in GGUF's metadata,
// and what its tensors are called in both formats. One file in this folder for
// each, or for kin, and one entry in the table of runtime/model/family_registry.cc.
//
// Static data. Threads: any.
#pragma once

#include <array>
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
  static constexpr std::array<std::string_view, 10> kPassedOver{"visual.",
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
