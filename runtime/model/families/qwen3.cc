// Qwen3: Llama with an RMS norm on each head's query and key; also the text of Qwen3-VL, whose
// positions have several dimensions that are the same for text.
#include "runtime/model/families/family.h"
#include "runtime/model/families/qwen_window.h"

namespace pc {
namespace {

Status configure(JsonView config, ModelConfig* out) {
  out->head_norm = HeadNorm::kEach;
  PC_TRY(const bool bias, config.boolean_or("attention_bias", false));
  out->set_qkv_bias(bias);
  out->o_bias = bias;
  return configure_qwen_window(config, out);
}

TensorNames vl_names(const ModelConfig&) {
  return text_names(kLlamaNames);
}

Status configure_gguf(const GgufKeys&, ModelConfig* out) {
  out->head_norm = HeadNorm::kEach;
  return ok();
}

}  // namespace

extern const Family kQwen3{.name = "qwen3",
                           .architecture = "Qwen3ForCausalLM",
                           .fields = {.default_head_dim = 128},
                           .configure = configure,
                           .names = llama_names,
                           .gguf_architecture = "qwen3",
                           .configure_gguf = configure_gguf,
                           .gguf_names = gguf_names};

extern const Family kQwen3Vl{.name = "qwen3vl",
                             .architecture = "Qwen3VLForConditionalGeneration",
                             .fields = {.default_theta = 500000, .default_head_dim = 128},
                             .several_media = true,
                             .configure = configure,
                             .names = vl_names,
                             .gguf_architecture = "qwen3vl",
                             .configure_gguf = configure_gguf,
                             .gguf_names = gguf_names};

}  // namespace pc
