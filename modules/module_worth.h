// What keeping a module's file is worth beside others of its size: what computing its tokens anew
// takes. A token that stands deep in a text sees more tokens, and takes longer, than one of its
// beginning; its bytes are as many.
//
// A link of a chain is found wherever those before it are gone (docs/adr/0022-chains.md), so each
// file is worth its own tokens, and what stands behind it adds nothing.
//
// ModuleWorths remembers what it has read. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "base/hash.h"
#include "base/mutex.h"
#include "modules/store/cache_folder.h"

namespace pc {

// At this depth a token is taken to be worth twice one of a text's beginning. Attention takes as
// long as all else from some 7,000 tokens on (TinyLlama-1.1B's shape, docs/adr/0059), but deep text
// is found again less often. Of 16, 32 and 64 thousand, the least saves a little more seconds and
// finds the fewest tokens, the most the other way.
inline constexpr double kDoubledDepth = 32768;

// `position`: of the first token. 1 for a token of a text's beginning.
double module_worth(std::uint32_t n_tokens, std::int64_t position);

// The first bytes of a module's file, at most a page of which is looked at. Nothing of them is
// believed but for this: what is no module is worth 1, as is one with states of recurrent layers,
// which cost as much at any depth.
double module_worth(std::span<const std::byte> head);

class ModuleWorths {
 public:
  // Opens a file at most once, since it never changes.
  double of(const CacheFolder& folder, const Digest& key);

 private:
  Mutex mutex_;
  std::unordered_map<Digest, double, DigestHash> known_ PC_GUARDED_BY(mutex_);
};

}  // namespace pc
