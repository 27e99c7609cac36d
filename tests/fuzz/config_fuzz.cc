// Fuzzes what reads config.json: the JSON reader, the common fields, every
// family's own, and the frequencies that come of them.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/model/families/registry.h"

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
  require(config.head_dim % 2 == 0 && config.n_heads % config.n_kv_heads == 0);
  for (const pc::RopeConfig& each : config.ropes) {
    PC_TRY(const pc::Rope rope, pc::compute_rope(each, config.head_dim, config.context_tokens));
    require(rope.dims <= config.head_dim && rope.inv_freq.size() == rope.dims / 2);
    for (const double f : rope.inv_freq) require(std::isfinite(f) && f > 0);
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
