// Qwen2 and Qwen2.5: Llama with biases on queries, keys and values; also the text of Qwen2-VL and
// Qwen2.5-VL, whose positions have several dimensions that are the same for text.
#include "runtime/model/families/family.h"
#include "runtime/model/families/qwen_window.h"

namespace pc {
namespace {

Status configure(JsonView config, ModelConfig* out) {
  out->set_qkv_bias(true);
  return configure_qwen_window(config, out);
}

Status configure_gguf(const GgufKeys&, ModelConfig*) {
  return ok();
}

TensorNames vl_names(const ModelConfig&) {
  return text_names(kLlamaNames);
}

}  // namespace

extern const Family kQwen2{.name = "qwen2",
                           .architecture = "Qwen2ForCausalLM",
                           .fields = {},
                           .configure = configure,
                           .names = llama_names,
                           .gguf_architecture = "qwen2",
                           .configure_gguf = configure_gguf,
                           .gguf_names = gguf_names};

extern const Family kQwen2Vl{.name = "qwen2vl",
                             .architecture = "Qwen2VLForConditionalGeneration",
                             .other_architecture = "Qwen2_5_VLForConditionalGeneration",
                             .fields = {.default_norm_eps = 1e-5, .default_theta = 1000000},
                             .several_media = true,
                             .configure = configure,
                             .names = vl_names,
                             .gguf_architecture = "qwen2vl",
                             .configure_gguf = configure_gguf,
                             .gguf_names = gguf_names};

}  // namespace pc
