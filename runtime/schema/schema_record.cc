#include "runtime/schema/schema_record.h"

#include <cstdint>
#include <span>

#include "modules/store/cache_folder.h"

namespace pc {
namespace {

constexpr off_t kMostBytes = 64 << 10;

CacheTenant records_of(std::string_view kind) {
  return {.files = kind, .tmp = kind};
}

std::string head_of(std::string_view kind, const Digest& key) {
  return "promptcache " + std::string(kind) + " 1\nof " + to_hex(key) + "\n";
}

std::string seal_of(std::string_view text) {
  return "seal " + to_hex(sha256(std::as_bytes(std::span(text)))) + "\n";
}

// The body of a text that is exactly a record.
std::optional<std::string> body_of(std::string_view text, std::string_view kind,
                                   const Digest& key) {
  const std::string head = head_of(kind, key);
  const std::size_t n_seal = seal_of("").size();
  if (text.size() < head.size() + n_seal || !text.starts_with(head)) return std::nullopt;
  const std::string_view sealed = text.substr(0, text.size() - n_seal);
  if (text.substr(sealed.size()) != seal_of(sealed)) return std::nullopt;
  return std::string(sealed.substr(head.size()));
}

}  // namespace

Digest schema_record_key(const ModuleIdentity& base, const pml::Layout& layout) {
  ModuleIdentity of = base;
  of.attend = static_cast<std::uint32_t>(layout.attend);
  const ModuleKey model = key_of(of);
  Sha256 hash;
  hash.field("promptcache schema").field(std::as_bytes(std::span(model.digest)));
  hash.field(layout.schema).field(static_cast<std::uint64_t>(layout.positions));
  return hash.finish();
}

std::optional<std::string> recall_record(std::string_view kind, const Digest& key,
                                         const std::string& cache_dir) {
  const auto folder = CacheFolder::open(cache_dir, records_of(kind), CacheAccess::kRead);
  if (!folder.ok()) return std::nullopt;
  const auto file = folder->open_file(key);
  if (!file.ok() || file->st.st_size <= 0 || file->st.st_size > kMostBytes) return std::nullopt;
  std::string text(static_cast<std::size_t>(file->st.st_size), '\0');
  if (!read_exactly(file->fd.get(), 0, std::as_writable_bytes(std::span(text))).ok())
    return std::nullopt;
  return body_of(text, kind, key);
}

bool remember_record(std::string_view kind, const Digest& key, const std::string& body,
                     const std::string& cache_dir) {
  PC_EXPECT(body.ends_with('\n'));
  std::string text = head_of(kind, key) + body;
  text += seal_of(text);
  if (text.size() > static_cast<std::size_t>(kMostBytes)) return false;
  const auto folder = CacheFolder::open(cache_dir, records_of(kind), CacheAccess::kMakeAll);
  if (!folder.ok() || !folder->writable()) return false;
  folder->sweep_unfinished();
  return folder->replace(key, std::as_bytes(std::span(text))).ok();
}

void forget_records(std::string_view kind, const std::string& cache_dir) {
  const auto folder = CacheFolder::open(cache_dir, records_of(kind), CacheAccess::kWrite);
  if (!folder.ok()) return;
  folder->sweep_unfinished();
  const auto records = folder->list();
  if (!records.ok()) return;
  for (const CacheEntry& record : *records)
    if (!folder->remove(record.key).ok()) continue;  // another process was first, or may alone
}

}  // namespace pc
