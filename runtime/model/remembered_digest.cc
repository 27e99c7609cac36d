#include "runtime/model/remembered_digest.h"

#include <algorithm>

#include "modules/store/cache_folder.h"

namespace pc {
namespace {

constexpr CacheTenant kRecords{
    .files = "models", .tmp = "models", .use_grain = std::chrono::hours(24)};
constexpr std::size_t kHexDigits = 2 * sizeof(Digest);

Digest key_of(std::span<const MappedFile> files) {
  Sha256 hash;
  hash.field("promptcache files").field(kTensorScanVersion).field(std::uint64_t{files.size()});
  for (const MappedFile& file : files) {
    const auto& [device, inode, size_bytes, mtime_ns, ctime_ns] = file.identity();
    hash.field(device).field(inode).field(size_bytes);
    hash.field(static_cast<std::uint64_t>(mtime_ns)).field(static_cast<std::uint64_t>(ctime_ns));
  }
  return hash.finish();
}

std::string record_text(const Digest& key, const std::string& digest) {
  std::string text = "promptcache tensors " + std::to_string(kTensorScanVersion);
  text += "\nfiles " + to_hex(key) + "\ndigest " + digest + "\n";
  text += "seal " + to_hex(sha256(std::as_bytes(std::span(text)))) + "\n";
  return text;
}

// The digest that a text records under this name.
std::optional<Digest> parse_record(const std::string& text, const Digest& key) {
  const std::size_t digits = text.find("\ndigest ");
  if (digits == std::string::npos) return std::nullopt;
  const std::string hex = text.substr(digits + 8, kHexDigits);
  return text == record_text(key, hex) ? from_hex(hex) : std::nullopt;
}

void remember(std::span<const MappedFile> files, const Digest& digest, const DigestMemory& memory) {
  const auto folder = CacheFolder::open(memory.cache_dir, kRecords, CacheAccess::kMakeAll);
  if (!folder.ok() || !folder->writable()) return;
  const Digest key = key_of(files);
  const std::string text = record_text(key, to_hex(digest));
  (void)folder->remove(key);  // whatever has its name, it was no record
  (void)folder->publish(key, std::as_bytes(std::span(text)), Durability::kNone);
  (void)folder->evict_unused();
}

bool is_settled(const MappedFile& file, std::int64_t before_ns) {
  return std::max(file.identity().mtime_ns, file.identity().ctime_ns) < before_ns;
}

}  // namespace

std::optional<Digest> recall_digest(std::span<const MappedFile> files, const DigestMemory& memory) {
  if (memory.cache_dir.empty() || files.empty()) return std::nullopt;
  const auto access = memory.writable ? CacheAccess::kWrite : CacheAccess::kRead;
  const auto folder = CacheFolder::open(memory.cache_dir, kRecords, access);
  if (!folder.ok()) return std::nullopt;
  const Digest key = key_of(files);
  const auto file = folder->open_file(key);
  std::string text(record_text(key, to_hex(key)).size(), '\0');  // all are of one size
  if (!file.ok() || file->st.st_size != static_cast<off_t>(text.size()) ||
      !read_exactly(file->fd.get(), 0, std::as_writable_bytes(std::span(text))).ok()) {
    return std::nullopt;
  }
  const auto digest = parse_record(text, key);
  if (digest) folder->mark_used(key);
  return digest;
}

Result<Digest> tensor_digest(const Checkpoint& checkpoint, const DigestMemory& memory,
                             const ScanOptions& options) {
  if (const auto known = recall_digest(checkpoint.files, memory)) return *known;
  const std::int64_t settled_ns = now_ns() - memory.settle_ns;
  PC_TRY(const TensorScan scanned, scan_tensors(checkpoint.tensors, options));
  // Zeros in the place of bytes that could not be read are no weights.
  if (std::ranges::any_of(checkpoint.files, &MappedFile::is_lost))
    return error(Code::kIo, "a file of the model cannot be read; try again, or get it anew");
  if (!scanned.not_finite.empty()) {
    const std::string& name = scanned.not_finite.front();
    return error(Code::kCorrupt, not_finite_sentence(name, checkpoint.tensors.at(name),
                                                     scanned.not_finite.size() - 1));
  }
  const bool sure = std::ranges::all_of(checkpoint.files, [&](const MappedFile& file) {
    return is_settled(file, settled_ns) && file.is_unchanged();
  });
  if (sure && memory.writable && !memory.cache_dir.empty())
    remember(checkpoint.files, scanned.digest, memory);
  return scanned.digest;
}

std::string not_finite_sentence(const std::string& name, const TensorView& view,
                                std::size_t n_more) {
  const std::string more = n_more ? " and " + std::to_string(n_more) + " more hold" : " holds";
  return view.file + ": tensor \"" + name + "\"" + more +
         " NaN or infinite numbers, with which nothing can be computed; get the file anew";
}

}  // namespace pc
