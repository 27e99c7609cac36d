// Mistral 7B and kin: Llama with one sliding window for all layers, or none. In
// GGUF it is written as a Llama, without the window.
#include "runtime/model/families/family.h"

namespace pc {
namespace {

constexpr std::uint32_t kDefaultWindow = 4096;  // of the first release, whose files may not say it

Status configure(JsonView config, ModelConfig* out) {
  PC_TRY(const std::uint32_t window, read_window(config, kDefaultWindow));
  out->windows.assign(out->n_layers, window);
  PC_TRY(const auto sliding, read_sliding_layers(config, out->n_layers));
  if (!sliding) return ok();
  for (const bool layer : *sliding) {
    if (layer != (window != 0)) {
      return config.error(Code::kUnsupported,
                          "layer_types and sliding_window of MistralForCausalLM disagree");
    }
  }
  return ok();
}

}  // namespace

extern const Family kMistral{.name = "mistral",
                             .architecture = "MistralForCausalLM",
                             .fields = {},
                             .configure = configure,
                             .names = llama_names,
                             .gguf_architecture = ""};

}  // namespace pc
