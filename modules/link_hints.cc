#include "modules/link_hints.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pc {
namespace {

// What is unfinished lies beside them, so that no module's promised room counts as theirs.
constexpr CacheTenant kHints{.files = "v3/next", .locks = "v3/locks", .tmp = "v3/next"};
constexpr std::array<char, 8> kMagic = {'p', 'c', 'n', 'e', 'x', 't', '1', '\n'};

// Beginnings of a link that have a hash each: as many as a record has room for.
constexpr std::array<std::uint32_t, 8> kBeginnings = {
    LinkHints::kMinTokens, 16, 32, 64, 96, 128, 160, 192};
using Hashes = std::array<std::uint32_t, kBeginnings.size()>;

// 0 for those that the tokens are too few for. Of the place, too, so that no table of usual
// beginnings serves to read them.
Hashes hashes_of(const Digest& place, std::span<const std::int32_t> tokens) {
  Hashes hashes{};
  for (std::size_t i = 0; i < hashes.size() && kBeginnings[i] <= tokens.size(); ++i) {
    Sha256 hash;
    hash.field(std::as_bytes(std::span(place)));
    const Digest digest = hash.field(std::as_bytes(tokens.first(kBeginnings[i]))).finish();
    std::memcpy(&hashes[i], digest.data(), sizeof hashes[i]);
    hashes[i] |= 1;  // is there
  }
  return hashes;
}

// How many beginnings are the same.
std::size_t n_same(const Hashes& a, const Hashes& b) {
  std::size_t n = 0;
  while (n < a.size() && a[n] != 0 && a[n] == b[n]) ++n;
  return n;
}

// Now and then, since that reads the folder: once in 1024 times.
bool is_time_to_look(const ModuleKey& key) {
  return key.digest[0] == 0 && key.digest[1] < 64;
}

}  // namespace

// As it lies in the file.
struct LinkHints::Record {
  Digest key;
  Hashes beginnings;

  bool operator==(const Record&) const = default;
};

LinkHints LinkHints::open(const std::string& cache_dir, bool writes) {
  LinkHints hints;
  auto folder =
      CacheFolder::open(cache_dir, kHints, writes ? CacheAccess::kMakeFolders : CacheAccess::kRead);
  if (folder.ok()) hints.folder_ = std::move(folder).value();
  return hints;
}

std::vector<LinkHints::Record> LinkHints::read(const Digest& place) const {
  static_assert(sizeof(Record) == 64 && sizeof kMagic + kMostRecords * sizeof(Record) <= 4096);
  const auto file = folder_.open_file(place);
  if (!file.ok()) return {};
  const auto size = static_cast<std::size_t>(file->st.st_size);
  if (size < sizeof kMagic || (size - sizeof kMagic) % sizeof(Record) != 0 ||
      size > sizeof kMagic + kMostRecords * sizeof(Record))
    return {};
  std::vector<std::byte> bytes(size);
  if (!read_exactly(file->fd.get(), 0, bytes).ok() ||
      std::memcmp(bytes.data(), kMagic.data(), sizeof kMagic) != 0)
    return {};
  if (size == sizeof kMagic) return {};
  std::vector<Record> records((size - sizeof kMagic) / sizeof(Record));
  std::memcpy(records.data(), bytes.data() + sizeof kMagic, records.size() * sizeof(Record));
  return records;
}

std::vector<ModuleKey> LinkHints::likely(const Digest& place,
                                         std::span<const std::int32_t> tokens) const {
  if (tokens.size() < kMinTokens) return {};
  std::vector<Record> records = read(place);
  if (records.empty()) return {};
  const Hashes wanted = hashes_of(place, tokens);
  const auto same = [&](const Record& record) { return n_same(record.beginnings, wanted); };
  std::erase_if(records, [&](const Record& record) { return same(record) == 0; });
  std::ranges::stable_sort(records, std::ranges::greater(), same);
  std::vector<ModuleKey> keys;
  for (const Record& record : records) keys.push_back({record.key});
  return keys;
}

std::vector<ModuleKey> LinkHints::newest(const Digest& place) const {
  std::vector<ModuleKey> keys;
  for (const Record& record : read(place)) keys.push_back({record.key});
  return keys;
}

void LinkHints::add(const Digest& place, std::span<const std::int32_t> tokens,
                    const ModuleKey& key) const {
  if (!folder_.writable() || tokens.size() < kMinTokens) return;
  const Record record{key.digest, hashes_of(place, tokens)};
  std::vector<Record> records = read(place);
  if (!records.empty() && records.front() == record) return;
  std::erase_if(records, [&](const Record& other) { return other.key == key.digest; });
  records.insert(records.begin(), record);
  records.resize(std::min(records.size(), kMostRecords));
  std::vector<std::byte> bytes(sizeof kMagic + records.size() * sizeof(Record));
  std::memcpy(bytes.data(), kMagic.data(), sizeof kMagic);
  std::memcpy(bytes.data() + sizeof kMagic, records.data(), records.size() * sizeof(Record));
  (void)folder_.replace(place, bytes);
  if (is_time_to_look(key)) forget_some();
}

void LinkHints::forget_some() const {
  const auto places = folder_.list();
  if (places.ok() && places->size() > kMostPlaces)
    (void)folder_.evict_to(folder_.stored_bytes() / 2, std::chrono::milliseconds(0));
}

void LinkHints::clear() const {
  (void)folder_.evict_to(0, std::chrono::milliseconds(0));
}

}  // namespace pc
