#include "modules/format.h"

#include <cstdint>  // PTRDIFF_MAX
#include <string>

#include "base/aligned_buffer.h"  // kCacheLine
#include "base/bytes.h"

namespace pc {
namespace {

Error too_big(const std::string& what) {
  return error(Code::kInvalidArgument, "module: " + what + " is zero or over its limit");
}

}  // namespace

Result<ModuleExtent> module_extent(const KvGeometry& geometry, std::uint32_t n_tokens,
                                   std::uint32_t n_runs, std::uint32_t n_blocks,
                                   std::uint32_t n_recurrent) {
  PC_CHECK_OK(check_geometry(geometry));
  if (n_tokens == 0 || n_tokens > kMaxModuleTokens) return too_big("n_tokens");
  if (n_runs == 0 || n_runs > n_tokens) return too_big("n_runs");
  if (n_blocks == 0 || n_blocks > n_tokens) return too_big("n_blocks");

  // One block of all layers fits 64 bits by these limits; all blocks may not.
  const auto planes_bytes = checked_mul(geometry.state_bytes(1), std::uint64_t{n_blocks});
  if (!planes_bytes || *planes_bytes > static_cast<std::uint64_t>(PTRDIFF_MAX))
    return too_big("payload_bytes");
  ModuleExtent extent;
  extent.recurrent = align_up(*planes_bytes, kCacheLine);
  const auto payload_bytes =
      n_recurrent == 0 ? planes_bytes
                       : checked_add(extent.recurrent, n_recurrent * std::uint64_t{sizeof(float)});
  if (!payload_bytes) return too_big("payload_bytes");

  extent.payload_bytes = *payload_bytes;
  extent.n_chunks = (*payload_bytes - 1) / kChunkBytes + 1;
  extent.checksums = extent.layers + geometry.n_layers() * sizeof(KvLayer);
  extent.runs = extent.checksums + extent.n_chunks * sizeof(std::uint64_t);
  extent.tokens = extent.runs + std::uint64_t{n_runs} * sizeof(ModuleRun);
  extent.tables_end = extent.tokens + std::uint64_t{n_tokens} * sizeof(std::int32_t);
  extent.payload = align_up(extent.tables_end, kPayloadAlign);
  const auto file_bytes = checked_add(extent.payload, *payload_bytes);
  // Sizes are also differences of pointers and off_t, both signed.
  if (!file_bytes || *file_bytes > static_cast<std::uint64_t>(PTRDIFF_MAX))
    return too_big("file_bytes");
  extent.file_bytes = *file_bytes;
  return extent;
}

Digest module_seal(std::span<const std::byte> head) {
  PC_EXPECT(head.size() >= sizeof(ModuleHeader));
  constexpr std::size_t kSeal = offsetof(ModuleHeader, seal);
  const Digest zeros{};
  Sha256 hash;
  hash.update(head.first(kSeal)).update(std::as_bytes(std::span(zeros)));
  return hash.update(head.subspan(sizeof(ModuleHeader))).finish();
}

}  // namespace pc
