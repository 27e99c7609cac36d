// Some of a vocabulary's tokens: a list while they are few, else a bit for each.
//
// Immutable value. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pc::constrain {

// Token i is bit i % 32 of word i / 32, as in pc_token_mask.
using TokenBits = std::vector<std::uint32_t>;

inline void set_token(std::span<std::uint32_t> bits, std::uint32_t token) {
  bits[token / 32] |= std::uint32_t{1} << token % 32;
}

class TokenSet {
 public:
  TokenSet() = default;
  explicit TokenSet(const TokenBits& bits);

  bool empty() const { return few_.empty() && bits_.empty(); }
  // `to` has the words of the vocabulary that the set was made of.
  void add_to(std::span<std::uint32_t> to) const;
  // Clears all other bits.
  void keep_in(std::span<std::uint32_t> to) const;
  std::size_t bytes() const;  // of memory

 private:
  std::vector<std::uint32_t> few_;  // sorted; or
  TokenBits bits_;
};

}  // namespace pc::constrain
