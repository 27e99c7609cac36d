// OLMo 2: Llama with norms behind the halves of a block instead of before them,
// and over all heads' queries and keys at once.
#include "runtime/model/families/family.h"

namespace pc {
namespace {

void set_common(ModelConfig* out) {
  out->pre_norms = false;
  out->post_norms = true;
  out->head_norm = HeadNorm::kAll;
}

Status configure(JsonView config, ModelConfig* out) {
  set_common(out);
  PC_TRY(const bool bias, config.boolean_or("attention_bias", false));
  out->set_qkv_bias(bias);
  out->o_bias = bias;
  return ok();
}

Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  if (keys.has("attention.sliding_window")) {
    return keys.error(Code::kUnsupported, "attention.sliding_window",
                      "says that it is OLMo 3, which is not computed");
  }
  set_common(out);
  return ok();
}

}  // namespace

extern const Family kOlmo2{.name = "olmo2",
                           .architecture = "Olmo2ForCausalLM",
                           .fields = {.default_norm_eps = 1e-5},
                           .configure = configure,
                           .names = llama_names,
                           .gguf_architecture = "olmo2",
                           .configure_gguf = configure_gguf,
                           .gguf_names = gguf_names};

}  // namespace pc
