// Stretches of text whose tokens are known: conversations come again with every turn, and all of
// them but the last is as it was.
//
// A stretch is found by all of its bytes, by whether a dummy prefix is due, and by where it is cut;
// nothing is found by its hash alone. Keeps to a number of bytes: the one that was not asked for
// the longest goes first. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "pml/turns/text_encoder.h"  // Tokens
#include "runtime/tokenizer/text/text_cuts.h"

namespace pc {

class RememberedStretches {
 public:
  // A shorter one is tokenised as fast as it is found.
  static constexpr std::size_t kMinBytes = 48;
  // Of all texts and tokens: some 100,000 tokens and their text make a megabyte.
  static constexpr std::size_t kMaxBytes = std::size_t{8} << 20;

  explicit RememberedStretches(std::size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}
  RememberedStretches(const RememberedStretches&) = delete;
  RememberedStretches& operator=(const RememberedStretches&) = delete;

  // cuts: as those of Tokenizer::encode_stretch, of which each becomes a number of tokens. False
  // where it is not known: nothing is changed.
  bool find(std::string_view text, bool prefix, Cuts cuts, Tokens* tokens);

  // cuts, counts: before and after. One that is too long to be worth its room is not kept.
  void add(std::string_view text, bool prefix, std::vector<std::size_t> cuts,
           std::vector<std::size_t> counts, const Tokens& tokens);

  std::size_t n_bytes() const;

 private:
  struct Stretch {
    std::uint64_t hash;
    std::string text;
    bool prefix;
    std::vector<std::size_t> cuts, counts;  // of the same number
    Tokens tokens;

    std::size_t n_bytes() const;
  };
  using Stretches = std::list<Stretch>;

  void drop(Stretches::iterator stretch) PC_REQUIRES(mutex_);

  const std::size_t max_bytes_;
  mutable Mutex mutex_;
  Stretches known_ PC_GUARDED_BY(mutex_);  // asked for last in front
  // By hash: of two texts of one hash the later counts, so that none can make it slow.
  std::unordered_map<std::uint64_t, Stretches::iterator> by_hash_ PC_GUARDED_BY(mutex_);
  std::size_t n_bytes_ PC_GUARDED_BY(mutex_) = 0;
};

}  // namespace pc
