#include "runtime/packed/packed_folder.h"

#include <cstddef>
#include <span>
#include <utility>

#include "runtime/packed/packed_file.h"
#include "simd/packed/packed.h"  // kPackVersion

namespace pc {
namespace {

constexpr CacheTenant kPackedTenant{
    .files = "packed", .used = "packed/used", .locks = "packed", .tmp = "packed"};

// The first bytes of a file; zeros where they cannot be read.
PackedHeader read_header(const CacheFolder& folder, const Digest& key) {
  PackedHeader header;
  const auto file = folder.open_file(key);
  const auto bytes = std::as_writable_bytes(std::span(&header, 1));
  if (!file.ok() || !read_exactly(file->fd.get(), 0, bytes).ok()) return {};
  return header;
}

PackedState state_of(const PackedHeader& h) {
  const bool ours = h.magic == kPackedMagic && h.endian == kPackedEndianTag;
  const auto versions = std::pair(h.version, h.pack_version);
  constexpr std::pair kOurs(kPackedFileVersion, simd::kPackVersion);
  if (!ours || versions > kOurs) return PackedState::kOther;
  return versions < kOurs ? PackedState::kOlder : PackedState::kCurrent;
}

}  // namespace

Result<CacheFolder> open_packed_folder(const std::string& cache_dir, bool create) {
  const auto access = create ? CacheAccess::kMakeFolders : CacheAccess::kRead;
  return CacheFolder::open(cache_dir, kPackedTenant, access);
}

std::vector<PackedEntry> list_packed(const CacheFolder& folder) {
  std::vector<PackedEntry> entries;
  const auto files = folder.list();
  if (!files.ok()) return entries;
  for (const CacheEntry& file : *files) {
    const PackedHeader header = read_header(folder, file.key);
    const PackedState state = state_of(header);
    entries.push_back({{file}, state, state == PackedState::kCurrent ? header.weights : Digest{}});
  }
  return entries;
}

EvictionReport collect_packed(const CacheFolder& folder) {
  const auto report = folder.evict_unused(
      [&](const Digest& key) { return state_of(read_header(folder, key)) == PackedState::kOlder; });
  return report.ok() ? *report : EvictionReport();
}

FileLock lock_packed(const CacheFolder& folder, std::chrono::milliseconds patience) {
  return folder.lock("lock", patience);
}

}  // namespace pc
