// What may come next in a text that repeats itself: prompt look-up (Saxena 2023, "Prompt Lookup
// Decoding"; Yang et al. 2023, arXiv 2304.04487, "Inference with Reference").
//
// The latest tokens are looked for among those before them, and what followed there is proposed.
// Where they stand several times, the place that agrees longest counts, of equals the latest.
//
// Owner of a copy of the tokens and of an index of all runs of kGram, 16 bytes a token. Threads:
// one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pml/turns/text_encoder.h"  // TokenId, Tokens

namespace pc {

class PromptLookup {
 public:
  // Fewer agree by chance.
  static constexpr std::size_t kGram = 3;

  void append(std::span<const TokenId> tokens);
  // Room for so many more: appending them allocates nothing.
  void reserve(std::size_t n_tokens);
  // What comes next does not stand behind what came last.
  void end_text() { append_token(kEnd); }

  struct Proposal {
    std::span<const TokenId> tokens;  // [at most `most`]; valid until the next call
    std::size_t n_agreeing = 0;       // tokens before them, kGram at least, kMostCompared at most
  };
  // No tokens: what came last stands nowhere else. A text that repeats itself up to its end is
  // proposed to go on so.
  Proposal propose(std::size_t most);

 private:
  static constexpr TokenId kEnd = -1;
  static constexpr std::size_t kMostCompared = 32, kMostPlaces = 16;
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

  void append_token(TokenId token);
  void index(std::size_t end);
  void grow();
  std::size_t slot(std::size_t end) const;
  bool is_gram(std::size_t end) const;
  std::size_t agreeing(std::size_t end) const;
  std::span<const TokenId> behind(std::size_t end, std::size_t most);

  Tokens tokens_, proposed_;
  // Ends of grams: where a slot's latest one stands, and of each end the one before it there.
  std::vector<std::uint32_t> latest_, before_;  // [a power of 2], [tokens_ + 1]
};

}  // namespace pc
