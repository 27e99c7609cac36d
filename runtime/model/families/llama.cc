// Llama 2 and 3, Code Llama, and what was trained in their shape: TinyLlama,
// SmolLM2; in GGUF also Mistral and Mixtral.
#include "runtime/model/families/family.h"

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
  PC_TRY(const bool bias, config.boolean_or("attention_bias", false));
  out->set_qkv_bias(bias);
  out->o_bias = bias;
  PC_TRY(out->ffn_bias, config.boolean_or("mlp_bias", false));
  return check_no_window(config, *out);
}

// Converters to GGUF reorder the rows of queries and keys so that pairs are neighbours.
Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  out->rope_interleaved = true;
  PC_TRY(out->mixture, read_gguf_mixture(keys, {.normalised = true}, out->n_layers, out->d_ffn));
  return ok();
}

}  // namespace

extern const Family kLlama{.name = "llama",
                           .architecture = "LlamaForCausalLM",
                           .fields = {},
                           .configure = configure,
                           .names = llama_names,
                           .gguf_architecture = "llama",
                           .configure_gguf = configure_gguf,
                           .gguf_names = gguf_names};

}  // namespace pc
