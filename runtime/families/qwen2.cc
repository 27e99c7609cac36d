// Qwen2 and Qwen2.5: Llama with biases on queries, keys and values.
#include "runtime/families/llama_shape.h"
#include "runtime/families/qwen_window.h"
#include "runtime/families/registry.h"

namespace pc {
namespace {

Status configure(JsonView config, ModelConfig* out) {
  out->qkv_bias = true;
  return configure_qwen_window(config, out);
}

}  // namespace

extern const Family kQwen2{"Qwen2ForCausalLM", "qwen2", 0, configure, bind_llama_shape};

}  // namespace pc
