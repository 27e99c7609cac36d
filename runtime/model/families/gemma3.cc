// Gemma 3, text: five layers with a window and a RoPE of their own to each one
// that sees all, norms of heads; otherwise as Gemma 2, without its caps.
#include "runtime/model/families/gemma.h"

namespace pc {
namespace {

constexpr std::uint32_t kFullEvery = 6;
constexpr std::uint32_t kLayersOf27B = 62;
constexpr double kGlobalTheta = 1000000, kLocalTheta = 10000;

Status configure(JsonView config, ModelConfig* out) {
  PC_CHECK_OK(configure_gemma(config, kFullEvery, 0, 0, out));
  out->head_norm = HeadNorm::kEach;
  const std::uint32_t context = out->context_tokens;
  PC_TRY(RopeConfig full, read_rope_config(config, context, kGlobalTheta, "full_attention"));
  RopeConfig sliding;
  if (config.find("rope_parameters")) {
    PC_TRY(sliding, read_rope_config(config, context, kLocalTheta, "sliding_attention"));
  } else {
    PC_TRY(sliding.theta, config.number_or("rope_local_base_freq", kLocalTheta));
  }
  choose_ropes(std::move(full), std::move(sliding), out);
  return ok();
}

Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  PC_CHECK_OK(configure_gemma_gguf(keys, kFullEvery, kLayersOf27B, {}, out));
  out->head_norm = HeadNorm::kEach;
  // Ollama's files have other keys for both bases, with the usual values, and name
  // a cap of logits that the models do not have. As in llama.cpp, only those
  // of the architecture that have no windows are capped.
  if (keys.has("attention.sliding_window")) out->logit_softcap = 0;
  if (!keys.has("rope.freq_base")) out->ropes[0].theta = kGlobalTheta;
  RopeConfig sliding;
  PC_TRY(sliding.theta, keys.number_or("rope.freq_base_swa", kLocalTheta));
  choose_ropes(out->ropes[0], std::move(sliding), out);
  return ok();
}

TensorNames media_names(const ModelConfig& config) {
  return text_names(gemma_names(config));
}

}  // namespace

extern const Family kGemma3{.name = "gemma3",
                            .architecture = "Gemma3ForCausalLM",
                            .fields = {.activation = "hidden_activation",
                                       .default_head_dim = 256,
                                       .default_activation = PC_ACTIVATION_GELU_TANH,
                                       .default_tied = true,
                                       .one_rope = false,
                                       .honoured = kGemmaHonoured},
                            .configure = configure,
                            .names = gemma_names,
                            .gguf_architecture = "gemma3",
                            .configure_gguf = configure_gguf,
                            .gguf_names = gguf_names};

// Of the larger ones, which see: their files leave out what is as in the 4B.
extern const Family kGemma3Media{.name = "gemma3",
                                 .architecture = "Gemma3ForConditionalGeneration",
                                 .fields = {.activation = "hidden_activation",
                                            .default_head_dim = 256,
                                            .default_context = 131072,
                                            .default_heads = 8,
                                            .default_vocab = 262208,
                                            .default_kv_heads = 4,
                                            .default_activation = PC_ACTIVATION_GELU_TANH,
                                            .default_tied = true,
                                            .one_rope = false,
                                            .honoured = kGemmaHonoured},
                                 .several_media = true,
                                 .configure = configure,
                                 .names = media_names,
                                 .gguf_architecture = ""};

}  // namespace pc
