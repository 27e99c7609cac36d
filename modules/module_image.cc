#include "modules/module_image.h"

#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

namespace pc {
namespace {

// In keys every word, scales included, belongs to one token: [words][16 tokens].
void clear_key_rows(std::byte* block, const KvGeometry& geometry, std::uint32_t n_rows) {
  const std::size_t row_of_words = kKvBlockTokens * kKvWordBytes;
  for (std::size_t at = 0; at < geometry.block_bytes(); at += row_of_words) {
    std::memset(block + at + n_rows * kKvWordBytes, 0, row_of_words - n_rows * kKvWordBytes);
  }
}

// In values a word holds one dimension of 1, 2 or 4 neighbours: [words of tokens][head_dim].
void clear_value_rows(std::byte* block, const KvGeometry& geometry, std::uint32_t n_rows) {
  const std::uint32_t a_word = kv_word_elements(geometry.type);
  const std::size_t element = kKvWordBytes / a_word, used = n_rows % a_word * element;
  if (geometry.scale_bytes() != 0)  // the first row of words has the scales, the rest is zero
    std::memset(block + n_rows * sizeof(float), 0, geometry.scale_bytes() - n_rows * sizeof(float));
  std::byte* row =
      block + geometry.scale_bytes() + n_rows / a_word * geometry.head_dim * kKvWordBytes;
  std::byte* end = block + geometry.block_bytes();
  if (used != 0) {  // tokens that are there share words with the first that are not
    for (std::uint32_t d = 0; d < geometry.head_dim; ++d, row += kKvWordBytes)
      std::memset(row + used, 0, kKvWordBytes - used);
  }
  std::memset(row, 0, static_cast<std::size_t>(end - row));
}

// Makes the bytes of a run depend on its rows alone, whatever the encoder
// left in the unused rows of the last block.
void clear_unused_rows(const KvPlanes& planes, const KvGeometry& geometry) {
  const std::uint32_t n_rows = planes.n_tokens % kKvBlockTokens;
  if (n_rows == 0) return;
  std::byte* last = planes.data + planes.n_tokens / kKvBlockTokens * geometry.block_bytes();
  for (std::uint32_t layer = 0; layer < geometry.n_layers; ++layer) {
    for (std::uint32_t head = 0; head < geometry.n_kv_heads; ++head) {
      std::byte* keys = last + layer * planes.layer_stride_bytes + head * planes.head_stride_bytes;
      clear_key_rows(keys, geometry, n_rows);
      clear_value_rows(keys + planes.value_offset_bytes, geometry, n_rows);
    }
  }
}

}  // namespace

Result<ModuleImage> ModuleImage::create(const ModuleIdentity& identity) {
  PC_CHECK_OK(check_identity(identity));
  ModuleImage image;
  PC_CHECK_OK(image.plan(identity));
  try {
    image.bytes_ = AlignedBuffer<std::byte>(image.file_bytes());
  } catch (const std::bad_alloc&) {
    return error(Code::kOutOfMemory,
                 "no memory for a module of " + std::to_string(image.file_bytes()) + " bytes");
  }
  std::memset(image.bytes_.data(), 0, image.bytes_.size());
  image.write_tables(identity);
  return image;
}

// The header, but for its seal, and the sizes that follow from it.
Status ModuleImage::plan(const ModuleIdentity& identity) {
  header_.magic = kModuleMagic;
  header_.endian = kModuleEndianTag;
  header_.version = kModuleVersion;
  header_.header_bytes = sizeof(ModuleHeader);
  header_.causes = causes_of(identity);
  header_.key = key_of(header_.causes);
  for (const IdentityRun& run : identity.runs) {
    if (!run.keep) continue;
    const auto n_tokens = static_cast<std::uint32_t>(run.tokens.size());
    runs_.push_back({n_tokens, run.position});
    header_.n_tokens += n_tokens;
    header_.n_blocks += kv_blocks(n_tokens);
  }
  header_.n_runs = static_cast<std::uint32_t>(runs_.size());
  PC_TRY(extent_,
         module_extent(identity.geometry, header_.n_tokens, header_.n_runs, header_.n_blocks));
  header_.n_chunks = extent_.n_chunks;
  header_.payload_bytes = extent_.payload_bytes;
  header_.file_bytes = extent_.file_bytes;
  return ok();
}

void ModuleImage::write_tables(const ModuleIdentity& identity) {
  std::memcpy(bytes_.data() + extent_.runs, runs_.data(), runs_.size() * sizeof(ModuleRun));
  std::byte* tokens = bytes_.data() + extent_.tokens;
  for (const IdentityRun& run : identity.runs) {
    if (!run.keep) continue;
    const std::size_t n_bytes = run.tokens.size() * sizeof(std::int32_t);
    std::memcpy(tokens, run.tokens.data(), n_bytes);
    tokens += n_bytes;
  }
}

KvPlanes ModuleImage::planes(std::uint32_t run) {
  PC_EXPECT(run < n_runs());
  std::size_t first_block = 0;
  for (std::uint32_t i = 0; i < run; ++i) first_block += kv_blocks(runs_[i].n_tokens);
  const KvGeometry& geometry = header_.causes.geometry;
  const std::size_t plane_bytes = header_.n_blocks * geometry.block_bytes();
  KvPlanes planes;
  planes.data = bytes_.data() + extent_.payload + first_block * geometry.block_bytes();
  planes.value_offset_bytes = plane_bytes;
  planes.head_stride_bytes = 2 * plane_bytes;
  planes.layer_stride_bytes = geometry.n_kv_heads * planes.head_stride_bytes;
  planes.n_tokens = runs_[run].n_tokens;
  return planes;
}

Result<ModuleHandle> ModuleImage::seal() && {
  for (std::uint32_t run = 0; run < n_runs(); ++run) {
    clear_unused_rows(planes(run), header_.causes.geometry);
  }
  const std::span<std::byte> bytes = bytes_.span();
  for (std::uint64_t chunk = 0; chunk < extent_.n_chunks; ++chunk) {
    const ChunkRange range = chunk_range(chunk, extent_.payload_bytes);
    const std::uint64_t sum =
        checksum64(bytes.subspan(extent_.payload + range.begin, range.end - range.begin));
    std::memcpy(bytes.data() + extent_.checksums + chunk * sizeof sum, &sum, sizeof sum);
  }
  std::memcpy(bytes.data(), &header_, sizeof header_);
  header_.seal = module_seal(bytes.first(extent_.payload));
  std::memcpy(bytes.data(), &header_, sizeof header_);
  const auto owner = std::make_shared<AlignedBuffer<std::byte>>(std::move(bytes_));
  return ModuleFile::open(owner->span(), PayloadCheck::kTrusted, owner);
}

}  // namespace pc
