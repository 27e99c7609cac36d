// Phi-3, Phi-3.5 and Phi-4-mini: Llama with fused projections, a window or none,
// partial rotation and LongRoPE. Which of LongRoPE's tables counts is decided
// by the context window that the model is opened with (runtime/model/shape/rope.h).
#include "runtime/model/families/family.h"

namespace pc {
namespace {

Status configure(JsonView config, ModelConfig* out) {
  PC_TRY(const std::uint32_t window, read_window(config, 0));
  out->windows.assign(out->n_layers, window);
  RopeConfig& rope = out->ropes[0];
  if (rope.type != "default" && rope.type != "longrope") {
    return config.error(Code::kUnsupported,
                        "RoPE type \"" + rope.type + "\" is none of Phi-3's: default and longrope");
  }
  return ok();
}

TensorNames names(const ModelConfig&) {
  TensorNames names = kLlamaNames;
  names.qkv = "self_attn.qkv_proj";
  names.gate_up = "mlp.gate_up_proj";
  return names;
}

Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  PC_TRY(const std::uint32_t window, read_gguf_window(keys));
  out->windows.assign(out->n_layers, window);
  return ok();
}

TensorNames names_of_gguf(const ModelConfig& config) {
  TensorNames names = gguf_fused_names(config);
  names.gate_up = "ffn_up";
  return names;
}

}  // namespace

extern const Family kPhi3{.name = "phi3",
                          .architecture = "Phi3ForCausalLM",
                          .fields = {.default_norm_eps = 1e-5},
                          .configure = configure,
                          .names = names,
                          .gguf_architecture = "phi3",
                          .configure_gguf = configure_gguf,
                          .gguf_names = names_of_gguf};

}  // namespace pc
