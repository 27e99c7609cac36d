// Qwen3: Llama with an RMS norm on each head's query and key.
#include "runtime/families/llama_shape.h"
#include "runtime/families/qwen_window.h"
#include "runtime/families/registry.h"

namespace pc {
namespace {

Status configure(JsonView config, ModelConfig* out) {
  out->qk_norm = true;
  PC_TRY(out->qkv_bias, config.boolean_or("attention_bias", false));
  out->o_bias = out->qkv_bias;
  return configure_qwen_window(config, out);
}

}  // namespace

extern const Family kQwen3{"Qwen3ForCausalLM", "qwen3", 128, configure, bind_llama_shape};

}  // namespace pc
