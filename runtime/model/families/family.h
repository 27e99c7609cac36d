// A family of models: what only it has in config.json and in GGUF's metadata,
// and what its tensors are called in both formats. One file in this folder for
// each, and one entry in the table of registry.cc.
//
// Static data. Threads: any.
#pragma once

#include <string_view>

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

}  // namespace pc
