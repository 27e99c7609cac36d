// How many proposed tokens are worth computing beside the one that must be.
//
// Of a draft of k tokens, each of which is right with probability p, (1 - p^(k+1)) / (1 - p) tokens
// come of a step on average (Leviathan et al. 2022, arXiv 2211.17192, equation 1), and the step
// takes 1 + kRowCost k times as long as one of one token. The k that gives most tokens a time is
// taken; 0 where none pays. p is learnt from what became of drafts, by how many tokens agreed
// before them, and forgotten again while nothing is drafted, so that a text that begins to repeat
// itself is noticed.
//
// A function of tokens alone, no clock: the same request is computed in the same steps. Value.
// Threads: one at a time.
#pragma once

#include <array>
#include <cstddef>

namespace pc {

class DraftLength {
 public:
  static constexpr std::size_t kMost = 15;
  // In the place of a number of agreeing tokens: the caller proposed the draft (pc_token_draft).
  static constexpr std::size_t kTold = ~std::size_t{0};

  // Is the next token of such a proposal right more often than not, in most texts? True behind 9
  // agreeing tokens, and for kTold.
  static bool is_likely(std::size_t n_agreeing) { return n_agreeing > 8; }
  // How many tokens to draft of a proposal behind n_agreeing agreeing tokens: at most `most`, and
  // kMost. Forgets a little of what was learnt.
  std::size_t choose(std::size_t n_agreeing, std::size_t most);
  // To be told after a draft: n_right of its n_drafted tokens were right.
  void learn(std::size_t n_agreeing, std::size_t n_drafted, std::size_t n_right);

 private:
  // By agreeing tokens: 3 and 4, 5 to 8, more, and told ones.
  static constexpr std::array<double, 4> kAtFirst{0.4, 0.6, 0.8, 0.9};
  static std::size_t kind(std::size_t n_agreeing);
  std::array<double, 4> right_ = kAtFirst;  // probabilities
};

}  // namespace pc
