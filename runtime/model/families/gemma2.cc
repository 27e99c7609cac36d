// Gemma 2: capped scores and logits, every second layer with a window, norms
// before and behind both halves of a block.
#include "runtime/model/families/gemma.h"

namespace pc {
namespace {

constexpr std::uint32_t kFullEvery = 2;
constexpr std::uint32_t kLayersOf27B = 46;

// Converters of the first days did not write them.
constexpr GemmaDefaults kAbsent{.attn_softcap = 50, .logit_softcap = 30, .window = 4096};

Status configure(JsonView config, ModelConfig* out) {
  return configure_gemma(config, kFullEvery, kAbsent.attn_softcap, kAbsent.logit_softcap, out);
}

Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  return configure_gemma_gguf(keys, kFullEvery, kLayersOf27B, kAbsent, out);
}

}  // namespace

extern const Family kGemma2{.name = "gemma2",
                            .architecture = "Gemma2ForCausalLM",
                            .fields = {.activation = "hidden_activation",
                                       .default_head_dim = 256,
                                       .default_activation = PC_ACTIVATION_GELU_TANH,
                                       .default_tied = true,
                                       .honoured = kGemmaHonoured},
                            .configure = configure,
                            .names = gemma_names,
                            .gguf_architecture = "gemma2",
                            .configure_gguf = configure_gguf,
                            .gguf_names = gguf_names};

}  // namespace pc
