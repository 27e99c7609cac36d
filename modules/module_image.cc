#include "modules/module_image.h"

#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

namespace pc {
namespace {

// Makes the bytes of a run depend on its rows alone, whatever the encoder
// left in the unused rows of the last block.
void clear_unused_rows(const KvPlanes& planes) {
  const std::uint32_t n_rows = planes.n_tokens % kKvBlockTokens;
  if (n_rows == 0) return;
  clear_rows(planes.from_block(planes.n_tokens / kKvBlockTokens), n_rows);
}

Result<std::shared_ptr<AlignedBuffer<std::byte>>> memory_of(std::uint64_t n_bytes) {
  try {
    return std::make_shared<AlignedBuffer<std::byte>>(n_bytes);
  } catch (const std::bad_alloc&) {
    return error(Code::kOutOfMemory,
                 "no memory for a module of " + std::to_string(n_bytes) + " bytes");
  }
}

}  // namespace

StoredSize stored_size(const ModuleIdentity& identity) {
  StoredSize size;
  std::uint64_t blocks = 0, runs = 0;
  for (const IdentityRun& run : identity.runs) {
    if (!run.keep) continue;
    size.tokens += run.tokens.size();
    blocks += kv_blocks(static_cast<std::uint32_t>(run.tokens.size()));
    ++runs;
  }
  if (const auto extent =
          module_extent(identity.geometry, size.tokens, runs, blocks, identity.n_recurrent))
    size.bytes = extent->file_bytes;
  return size;
}

Result<ModuleImage> ModuleImage::create(const ModuleIdentity& identity,
                                        std::shared_ptr<CacheDraft> draft) {
  PC_CHECK_OK(check_identity(identity));
  ModuleImage image;
  PC_CHECK_OK(image.plan(identity));
  if (draft) {
    image.bytes_ = draft->bytes();
    PC_EXPECT(image.bytes_.size() == image.file_bytes());
    image.draft_ = std::move(draft);
  } else {
    PC_TRY(image.memory_, memory_of(image.file_bytes()));
    image.bytes_ = image.memory_->span();
    std::memset(image.bytes_.data(), 0, image.bytes_.size());
  }
  image.write_tables(identity);
  return image;
}

Result<ModuleHandle> ModuleImage::copy(const ModuleFile& module) {
  PC_TRY(const auto memory, memory_of(module.bytes().size()));
  std::memcpy(memory->data(), module.bytes().data(), memory->size());
  return ModuleFile::open(memory->span(), PayloadCheck::kVerify, memory);
}

// The header, but for its seal, and the sizes that follow from it.
Status ModuleImage::plan(const ModuleIdentity& identity) {
  header_.magic = kModuleMagic;
  header_.endian = kModuleEndianTag;
  geometry_ = std::make_shared<const KvGeometry>(identity.geometry);
  header_.version = module_version(identity.n_recurrent);
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
  PC_TRY(extent_, module_extent(identity.geometry, header_.n_tokens, header_.n_runs,
                                header_.n_blocks, identity.n_recurrent));
  header_.n_chunks = extent_.n_chunks;
  header_.payload_bytes = extent_.payload_bytes;
  header_.file_bytes = extent_.file_bytes;
  return ok();
}

void ModuleImage::write_tables(const ModuleIdentity& identity) {
  const auto layers = identity.geometry.layers();
  std::memcpy(bytes_.data() + extent_.layers, layers.data(), layers.size_bytes());
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
  std::uint32_t first_block = 0;
  for (std::uint32_t i = 0; i < run; ++i) first_block += kv_blocks(runs_[i].n_tokens);
  KvPlanes planes = dense_planes(bytes_.data() + extent_.payload, *geometry_, header_.n_blocks)
                        .from_block(first_block);
  planes.n_tokens = runs_[run].n_tokens;
  return planes;
}

std::span<float> ModuleImage::recurrent() {
  const std::uint32_t n = header_.causes.n_recurrent;
  if (n == 0) return {};
  return {reinterpret_cast<float*>(bytes_.data() + extent_.payload + extent_.recurrent), n};
}

Result<ModuleHandle> ModuleImage::seal() && {
  for (std::uint32_t run = 0; run < n_runs(); ++run) clear_unused_rows(planes(run));
  const std::span<std::byte> bytes = bytes_;
  for (std::uint64_t chunk = 0; chunk < extent_.n_chunks; ++chunk) {
    const ChunkRange range = chunk_range(chunk, extent_.payload_bytes);
    const std::uint64_t sum =
        checksum64(bytes.subspan(extent_.payload + range.begin, range.end - range.begin));
    std::memcpy(bytes.data() + extent_.checksums + chunk * sizeof sum, &sum, sizeof sum);
  }
  std::memcpy(bytes.data(), &header_, sizeof header_);
  header_.seal = module_seal(bytes.first(extent_.payload));
  std::memcpy(bytes.data(), &header_, sizeof header_);
  if (!draft_) return ModuleFile::open(bytes_, PayloadCheck::kTrusted, std::move(memory_));
  draft_->end_writing();
  return ModuleFile::open(bytes_, PayloadCheck::kTrusted, std::move(draft_));
}

}  // namespace pc
