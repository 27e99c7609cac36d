// Llama 2 and 3, and what was trained in their shape: TinyLlama, SmolLM2.
#include "runtime/families/llama_shape.h"
#include "runtime/families/registry.h"

namespace pc {
namespace {

// Llama attends to everything. A window here is some converter's, and the
// reference would ignore it: it may stand only where it could not act.
Status check_no_window(JsonView config, const ModelConfig& c) {
  PC_TRY(const std::uint32_t window, read_window(config, 0));
  PC_TRY(const auto sliding, read_sliding_layers(config, c.n_layers));
  bool slides = window != 0 && window < c.context_tokens;
  if (sliding) {
    for (const bool layer : *sliding) slides = slides || layer;
  }
  if (!slides) return ok();
  return config.error(Code::kUnsupported,
                      "gives LlamaForCausalLM a sliding window, which it does not have");
}

Status configure(JsonView config, ModelConfig* out) {
  PC_TRY(out->qkv_bias, config.boolean_or("attention_bias", false));
  out->o_bias = out->qkv_bias;
  PC_TRY(out->ffn_bias, config.boolean_or("mlp_bias", false));
  return check_no_window(config, *out);
}

}  // namespace

extern const Family kLlama{"LlamaForCausalLM", "llama", 0, configure, bind_llama_shape};

}  // namespace pc
