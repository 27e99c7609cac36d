// Fuzzes what reads config.json: the JSON reader, the common fields, every
// family's own, and the frequencies that come of them.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/model/family_registry.h"

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

// As load_model goes about it; what comes out must be fit to compute with.
pc::Status configure(pc::JsonView root) {
  PC_TRY(const std::string architecture, pc::read_architecture(root));
  PC_TRY(const pc::Family* family, pc::find_family(architecture));
  const pc::JsonView text = family->several_media ? pc::text_config(root) : root;
  PC_TRY(pc::ModelConfig config, pc::read_model_config(text, family->fields));
  PC_CHECK_OK(family->configure(text, &config));
  if (family->several_media) PC_CHECK_OK(pc::read_beside_text(root, family->fields, &config));
  PC_CHECK_OK(pc::check_shape("fuzz", config));
  require(config.windows.size() == config.n_layers);
  require(config.layer_ropes.size() == config.n_layers);
  for (const std::uint32_t rope : config.layer_ropes)
    require(rope == PC_NO_ROPE || rope < config.ropes.size());
  for (std::uint32_t i = 0; i < config.n_layers; ++i) {
    const pc::HeadsConfig heads = config.heads(i);
    require(heads.head_dim % 2 == 0 && heads.n_heads % heads.n_kv_heads == 0);
    require(config.states_of.empty() || config.states_of[i] <= i);
  }
  for (std::uint32_t i = 0; i < config.ropes.size(); ++i) {
    const std::uint32_t head_dim = config.rope_head_dim(i);
    PC_TRY(const pc::Rope rope, pc::compute_rope(config.ropes[i], head_dim, config.context_tokens));
    require(rope.dims <= head_dim && rope.inv_freq.size() == rope.dims / 2);
    const bool may_stand = config.ropes[i].type == "proportional";
    for (const double f : rope.inv_freq) require(std::isfinite(f) && (f > 0 || may_stand));
  }
  return pc::ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = pc::JsonDocument::parse(text, "fuzz");
  const pc::Status status =
      document.ok() ? configure(document->root()) : pc::Status(document.error());
  if (!status.ok()) require(!status.error().message.empty());
  return 0;
}
