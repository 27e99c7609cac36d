// gpt-oss: biases everywhere, a sink a head, windows in every other layer, and mixtures whose
// experts have a clamped gate. Read from GGUF: its folders hold experts in blocks of another order.
#include "runtime/model/families/family.h"

namespace pc {
namespace {

constexpr std::uint32_t kWindow = 128;

Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  PC_TRY(const std::uint32_t window, read_gguf_window(keys, kWindow));
  for (std::uint32_t i = 0; i < out->n_layers; i += 2) out->windows[i] = window;
  // The reference interpolates between frequencies without rounding them to whole dimensions.
  out->ropes[0].truncate = false;
  out->sinks = true;
  out->activation = PC_ACTIVATION_CLAMPED_SWIGLU;
  PC_TRY(out->mixture, read_gguf_mixture(keys, {.normalised = true}, out->n_layers, out->d_ffn));
  out->mixture.router_bias = out->mixture.expert_bias = true;
  return ok();
}

// The norm before the feed-forward half has the name of another one.
TensorNames names(const ModelConfig&) {
  TensorNames names = kGgufNames;
  names.ffn_norm = "post_attention_norm";
  return names;
}

}  // namespace

extern const Family kGptOss{.name = "gpt-oss",
                            .architecture = "",
                            .fields = {},
                            .configure = nullptr,
                            .names = nullptr,
                            .gguf_architecture = "gpt-oss",
                            .configure_gguf = configure_gguf,
                            .gguf_names = names};

}  // namespace pc
