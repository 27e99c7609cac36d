// The tokens of what comes next behind an answer, and their way into an appendix.
//
// Pure. Threads: any.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"
#include "pml/turns/next_turns.h"
#include "runtime/conversation/appendix.h"
#include "runtime/engine/engine.h"

namespace pc {

struct NextText {
  std::vector<Tokens> spans;  // [NextTurns::spans]
  std::size_t n = 0;          // tokens
  std::size_t n_opening = 0;  // of these, the first, which open a turn; 0: that is not known
};

// Where a token of an opening begins what is said behind it, that is the saying's.
Result<NextText> encode_next(const Engine& engine, const pml::NextTurns& next);

// ends_turn: a turn ends with what stands before.
void append_next(const pml::NextTurns& next, const NextText& text, bool ends_turn,
                 Appendix* appendix);

}  // namespace pc
