// What was kept behind a text, so that a text that goes on otherwise there finds how much of it is
// there all the same: hints, of links of a chain (runtime/prompt/chain.h).
//
//   <dir>/v2/next/<64 hex>   the name is a place; its records, the newest first
//
// A record is the key of a file and hashes of its first tokens, which no text can be read out of.
// Nothing of it is believed: whoever reads one opens the file of that key, whose own tokens decide.
// So a hint that is lost, stale, damaged or forged costs what it would have saved, and no more. A
// file of hints is replaced whole, in one step; of two who write at once one is lost.
//
// Owner of the open folder. Threads: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "modules/module_key.h"
#include "modules/store/cache_folder.h"

namespace pc {

class LinkHints {
 public:
  // A page of a file system: what is older than these is forgotten.
  static constexpr std::size_t kMostRecords = 63;
  // Less in common is not looked for: a segment in attention for it costs as much as it saves.
  static constexpr std::uint32_t kMinTokens = 8;
  // Of all places; beyond, those that were written longest ago go.
  static constexpr std::size_t kMostPlaces = 65536;

  LinkHints() = default;  // knows nothing, keeps nothing
  // One that knows nothing where the folder cannot be used.
  static LinkHints open(const std::string& cache_dir, bool writes);

  // Files that may begin as these tokens do, at least kMinTokens of them, the longest in common
  // first.
  std::vector<ModuleKey> likely(const Digest& place, std::span<const std::int32_t> tokens) const;
  // All that are remembered of a place, the newest first.
  std::vector<ModuleKey> newest(const Digest& place) const;
  // The file of this key has these tokens. Ignores what cannot be written.
  void add(const Digest& place, std::span<const std::int32_t> tokens, const ModuleKey& key) const;
  // Forgets all.
  void clear() const;

 private:
  struct Record;
  std::vector<Record> read(const Digest& place) const;
  void forget_some() const;

  CacheFolder folder_;
};

}  // namespace pc
