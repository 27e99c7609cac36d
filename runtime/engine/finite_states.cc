#include "runtime/engine/finite_states.h"

#include <span>
#include <string>

#include "modules/kv.h"
#include "simd/kernels.h"

namespace pc {
namespace {

// Codes are finite whatever they are; their scales are looked at.
bool scales_finite(const simd::Kernels& kernels, std::span<const std::byte> blocks,
                   std::size_t block_bytes) {
  for (std::size_t at = 0; at < blocks.size(); at += block_bytes)
    if (!kernels.all_finite(blocks.data() + at, simd::Type::kF32, kKvBlockTokens)) return false;
  return true;
}

bool all_finite(const simd::Kernels& kernels, std::span<const std::byte> blocks,
                const KvGeometry& geometry) {
  switch (geometry.type) {
    case KvType::kF32:
      return kernels.all_finite(blocks.data(), simd::Type::kF32, blocks.size() / sizeof(float));
    case KvType::kBf16:
      return kernels.all_finite(blocks.data(), simd::Type::kBf16, blocks.size() / 2);
    case KvType::kQ8:
      return scales_finite(kernels, blocks, geometry.block_bytes());
  }
  return false;
}

}  // namespace

Status check_finite(const ModuleFile& module, const char* backend) {
  const KvGeometry& geometry = module.geometry();
  const KvSegment all = module.segment(0, 0);  // the first run's: where the states begin
  for (std::uint32_t layer = 0; layer < geometry.n_layers; ++layer) {
    const std::span blocks(all.data + layer * all.layer_stride_bytes, all.layer_stride_bytes);
    if (all_finite(simd::selected_or_scalar_kernels(), blocks, geometry)) continue;
    return error(Code::kNotFinite, std::string("backend ") + backend +
                                       " computed states that are not finite: they begin in "
                                       "layer " +
                                       std::to_string(layer + 1) + " of " +
                                       std::to_string(geometry.n_layers));
  }
  return ok();
}

}  // namespace pc
