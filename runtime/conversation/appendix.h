// What a conversation is to become, before it is computed: what goes on behind its answer, and what
// is left where it goes back.
//
// Values; the conversation is as it was until it takes them. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "pml/syntax/prompt.h"
#include "runtime/conversation/parts.h"
#include "runtime/prompt/chain.h"

namespace pc {

// What goes on behind the answer, or in its place.
struct Appendix {
  Chain chain;                  // of the whole conversation, what was appended with it
  Tokens tokens = {};           // of all texts that were appended
  Tokens last = {};             // of the last one, which opens the next answer where one is
  Position begin = 0, end = 0;  // the first's, behind or in the place of the answer; the new end
  std::uint64_t n_seen = 0;     // tokens in front of these, the answer's last included
  bool keeps_answer = true;
  std::optional<Slide> slide = {};   // of what stands before it
  Position held_end = 0;             // of what the slide leaves
  std::optional<Cut> cut = {};       // of its first turn, if that is the user's
  Tokens unsaid = {};                // of an answer that goes
  std::vector<Import> imports = {};  // by position
  std::size_t n_schema_runs = 0;
  std::vector<pml::PromptNode> said = {};  // the answer, and the turns that come next
  OpenAnswer open = {};                    // the next answer's; of it, what the turns say

  // Did all turns go, and what opened the next one?
  bool took_all() const { return slide && slide->takes_all; }
  // Tokens that are to be computed, at `end`.
  void append(const Tokens& more);
};

// What is left of a conversation that goes back into an answer.
struct Return {
  Position position = 0, begin = 0;  // where it goes on; the answer's first token's
  std::size_t n_past = 0;            // answers that may be gone back to, then
  bool in_past = false;              // the answer is one of them now
  Read read = {};                    // before it
  pml::Begins begins = {};           // the answer
  Chain chain;                       // of which the last token is computed again, for the logits
  Tokens kept = {}, unsaid = {};     // of the answer; what was read behind it
};

}  // namespace pc
