// Hints: which links of chains (runtime/prompt/chain.h) were kept behind a text. Another text that
// begins alike and then goes on otherwise finds by them the link whose first tokens it shares.
//
//   <dir>/v3/next/<64 hex>   the name is a place in a text (Chain::place); its records, newest
//   first
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
  // Of one place, so that a file of hints fits one page of a file system; older records are
  // dropped.
  static constexpr std::size_t kMostRecords = 63;
  // Links with fewer tokens in common are not looked for: to attend to one more segment costs as
  // much as computing these tokens.
  static constexpr std::uint32_t kMinTokens = 8;
  // Files of hints in the folder; beyond, those written longest ago are removed.
  static constexpr std::size_t kMostPlaces = 65536;

  LinkHints() = default;  // without a folder: finds nothing, keeps nothing
  // Where the folder cannot be used, hints without a folder.
  static LinkHints open(const std::string& cache_dir, bool writes);

  // Keys of files behind this place that may begin with at least kMinTokens of these tokens; the
  // file that shares most comes first.
  std::vector<ModuleKey> likely(const Digest& place, std::span<const std::int32_t> tokens) const;
  // Keys of all files that are remembered behind this place, the newest first.
  std::vector<ModuleKey> newest(const Digest& place) const;
  // Remembers behind this place that the file of `key` has these tokens. Failing to write is no
  // error.
  void add(const Digest& place, std::span<const std::int32_t> tokens, const ModuleKey& key) const;
  // Removes all hints.
  void clear() const;

 private:
  struct Record;
  std::vector<Record> read(const Digest& place) const;
  void forget_some() const;

  CacheFolder folder_;
};

}  // namespace pc
