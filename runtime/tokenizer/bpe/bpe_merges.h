// The merge table of a byte-pair encoding, and merging the symbols of one word.
//
// Filled once, then immutable; threads: const methods from any thread, with a
// workspace for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "pml/turns/text_encoder.h"  // TokenId, Tokens
#include "runtime/tokenizer/text/text_watch.h"

namespace pc {

class BpeMerges {
 public:
  struct Merge {
    TokenId left, right;  // neighbours that become
    TokenId merged;       // one token;
    std::uint32_t rank;   // the lower the earlier
  };

  BpeMerges() = default;
  // Of two merges of one pair the later in the list counts. Precondition: ids
  // are in [0, vocab_size).
  BpeMerges(std::vector<Merge> merges, std::size_t vocab_size);

  const std::vector<Merge>& all() const { return merges_; }  // by left, then right

  // nullptr when the two do not merge.
  const Merge* find(TokenId left, TokenId right) const;

  // Memory that words of one text share.
  struct Workspace {
    std::vector<std::uint32_t> next, previous;
    std::vector<std::uint64_t> queue;
  };

  // Merges, the lowest rank first and the leftmost among equals, until nothing
  // merges any more. O(n log n) for n symbols, without recursion.
  // Precondition: fewer than 2^32 - 1 symbols. Errors: the watch's.
  Status apply(Tokens* symbols, TextWatch& watch, Workspace* workspace) const;

 private:
  std::vector<Merge> merges_;
  std::vector<std::uint32_t> first_;  // [vocab_size + 1] first_[left]: where left's merges begin
};

}  // namespace pc
