#include "runtime/constrain/grammar/token_set.h"

#include <bit>

namespace pc::constrain {

TokenSet::TokenSet(const TokenBits& bits) {
  std::size_t n = 0;
  for (const std::uint32_t word : bits) n += static_cast<std::size_t>(std::popcount(word));
  if (n >= bits.size()) {  // a list would be larger
    bits_ = bits;
    return;
  }
  few_.reserve(n);
  for (std::size_t w = 0; w < bits.size(); ++w)
    for (std::uint32_t word = bits[w]; word != 0; word &= word - 1)
      few_.push_back(static_cast<std::uint32_t>(w * 32) +
                     static_cast<std::uint32_t>(std::countr_zero(word)));
}

void TokenSet::add_to(std::span<std::uint32_t> to) const {
  for (const std::uint32_t token : few_) set_token(to, token);
  for (std::size_t w = 0; w < bits_.size(); ++w) to[w] |= bits_[w];
}

void TokenSet::keep_in(std::span<std::uint32_t> to) const {
  if (!bits_.empty()) {
    for (std::size_t w = 0; w < to.size(); ++w) to[w] &= w < bits_.size() ? bits_[w] : 0;
    return;
  }
  auto token = few_.begin();
  for (std::size_t w = 0; w < to.size(); ++w) {
    std::uint32_t kept = 0;
    for (; token != few_.end() && *token / 32 == w; ++token)
      kept |= std::uint32_t{1} << *token % 32;
    to[w] &= kept;
  }
}

std::size_t TokenSet::bytes() const {
  return sizeof *this + (few_.size() + bits_.size()) * sizeof(std::uint32_t);
}

}  // namespace pc::constrain
