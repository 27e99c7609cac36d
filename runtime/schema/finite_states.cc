#include "runtime/schema/finite_states.h"

#include <span>
#include <string>

#include "modules/kv.h"
#include "simd/kernels.h"

namespace pc {
namespace {

// A block's scales; its codes are finite whatever they are.
bool scales_finite(const simd::Kernels& kernels, const std::byte* scales, KvHead head, bool keys) {
  if (!keys && head.type == KvType::kQ8)
    return kernels.all_finite(scales, simd::Type::kF32, kKvBlockTokens);
  return kernels.all_finite(scales, simd::Type::kBf16, head.scale_bytes() / 2);
}

bool scales_finite(const simd::Kernels& kernels, std::span<const std::byte> layer, KvHead head,
                   std::size_t plane_bytes) {
  for (bool keys = true; !layer.empty(); layer = layer.subspan(plane_bytes), keys = !keys)
    for (std::size_t at = 0; at < plane_bytes; at += head.block_bytes())
      if (!scales_finite(kernels, layer.data() + at, head, keys)) return false;
  return true;
}

// layer: of all heads, keys and values in turns.
bool all_finite(const simd::Kernels& kernels, std::span<const std::byte> layer, KvHead head,
                std::size_t plane_bytes) {
  switch (head.type) {
    case KvType::kF32:
      return kernels.all_finite(layer.data(), simd::Type::kF32, layer.size() / sizeof(float));
    case KvType::kBf16:
      return kernels.all_finite(layer.data(), simd::Type::kBf16, layer.size() / 2);
    case KvType::kQ8:
    case KvType::kQ4:
      return scales_finite(kernels, layer, head, plane_bytes);
  }
  return false;
}

}  // namespace

Status check_finite(const ModuleFile& module, const char* backend) {
  const KvGeometry& geometry = module.geometry();
  const KvSegment all = module.segment(0, 0);  // the first run's: its planes are those of all
  for (std::uint32_t layer = 0; layer < geometry.n_layers(); ++layer) {
    const std::size_t plane_bytes = all.plane_bytes(layer);
    const std::span states(all.data + geometry.layer_offset(layer, all.plane_blocks),
                           2 * geometry.n_kv_heads(layer) * plane_bytes);
    if (all_finite(simd::selected_or_scalar_kernels(), states, geometry.head(layer), plane_bytes))
      continue;
    return error(Code::kNotFinite, std::string("backend ") + backend +
                                       " computed states that are not finite: they begin in "
                                       "layer " +
                                       std::to_string(layer + 1) + " of the " +
                                       std::to_string(geometry.n_layers()) + " that have some");
  }
  const std::span<const float> recurrent = module.recurrent();
  if (!simd::selected_or_scalar_kernels().all_finite(recurrent.data(), simd::Type::kF32,
                                                     recurrent.size()))
    return error(Code::kNotFinite, std::string("backend ") + backend +
                                       " computed states of recurrent layers that are not finite");
  return ok();
}

}  // namespace pc
