// Qwen2 and Qwen2.5: Llama with biases on queries, keys and values.
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

}  // namespace

extern const Family kQwen2{.name = "qwen2",
                           .architecture = "Qwen2ForCausalLM",
                           .fields = {},
                           .configure = configure,
                           .names = llama_names,
                           .gguf_architecture = "qwen2",
                           .configure_gguf = configure_gguf,
                           .gguf_names = gguf_names};

}  // namespace pc
