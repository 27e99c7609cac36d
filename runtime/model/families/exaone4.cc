// Exaone 4: Llama with norms behind the halves of a block instead of before them, and on each
// head's query and key. The 32B has windows in three of four layers, and no positions in the
// others.
#include "runtime/model/families/family.h"

namespace pc {
namespace {

constexpr std::uint32_t kDefaultWindow = 4096, kFullEvery = 4;
constexpr std::uint32_t kLayersOf32B = 64;

void set_common(ModelConfig* out) {
  out->pre_norms = false;
  out->post_norms = true;
  out->head_norm = HeadNorm::kEach;
}

void slide(const std::vector<bool>& layers, std::uint32_t window, ModelConfig* out) {
  for (std::uint32_t i = 0; i < out->n_layers; ++i) {
    if (layers[i]) {
      out->windows[i] = window;
    } else {
      out->layer_ropes[i] = PC_NO_ROPE;
    }
  }
}

// "LLLG", in turn for all layers: L slides.
Result<std::vector<bool>> read_letters(JsonView pattern, std::uint32_t n_layers) {
  PC_TRY(const std::string_view letters, pattern.string());
  std::vector<bool> sliding;
  for (std::uint32_t i = 0; !letters.empty() && i < n_layers; ++i)
    sliding.push_back(letters[i % letters.size()] == 'L');
  if (sliding.size() == n_layers) return sliding;
  return pattern.error(Code::kCorrupt, "is empty");
}

Result<std::vector<bool>> read_pattern(JsonView config, std::uint32_t n_layers) {
  PC_TRY(const auto listed, read_sliding_layers(config, n_layers));
  if (listed) return *listed;
  const auto pattern = config.find("sliding_window_pattern");
  if (!pattern) return sliding_but_every(n_layers, kFullEvery);
  if (pattern->is_string()) return read_letters(*pattern, n_layers);
  PC_TRY(const std::int64_t every, pattern->integer_in(1, n_layers));
  return sliding_but_every(n_layers, static_cast<std::uint32_t>(every));
}

Status configure(JsonView config, ModelConfig* out) {
  set_common(out);
  PC_TRY(const std::uint32_t window, read_window(config, kDefaultWindow));
  if (window == 0) return ok();
  PC_TRY(const auto layers, read_pattern(config, out->n_layers));
  slide(layers, window, out);
  return ok();
}

Status configure_gguf(const GgufKeys& keys, ModelConfig* out) {
  set_common(out);
  const std::uint32_t absent = out->n_layers == kLayersOf32B ? kDefaultWindow : 0;
  PC_TRY(const std::uint32_t window, read_gguf_window(keys, absent));
  if (window == 0) return ok();
  PC_TRY(const auto layers, read_gguf_sliding_layers(keys, out->n_layers, kFullEvery));
  slide(layers, window, out);
  return ok();
}

}  // namespace

extern const Family kExaone4{.name = "exaone4",
                             .architecture = "Exaone4ForCausalLM",
                             .fields = {.default_norm_eps = 1e-5},
                             .configure = configure,
                             .names = llama_names,
                             .gguf_architecture = "exaone4",
                             .configure_gguf = configure_gguf,
                             .gguf_names = gguf_names};

}  // namespace pc
