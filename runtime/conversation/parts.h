// What a conversation is made of, beside its prompt and its chain.
//
// Values. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "pml/turns/next_turns.h"
#include "pml/turns/text_encoder.h"  // Begins, Position, Tokens
#include "runtime/conversation/gone.h"

namespace pc {

// What stands before an answer.
struct Read {
  std::size_t n_said = 0;             // turns behind the prompt's own
  std::size_t n_schema_runs = 0;      // see plan_turns
  std::uint64_t n_module_tokens = 0;  // attached from modules
  std::uint32_t n_attached = 0;       // to the timeline: links, too
};

// An answer, and the conversation that it belongs to.
struct OpenAnswer {
  Position begin = 0;                           // of its first token
  std::optional<pml::OpenChat> chat = {};       // none: no answer's turn is open
  std::optional<std::uint32_t> n_opening = {};  // tokens that opened it
  pml::Begins begins = pml::Begins::kAmidText;
  Read read = {};
};

// One that may be gone back to.
struct PastAnswer {
  OpenAnswer open;
  Position end = 0;  // of its last token, plus 1
};

// A module's run that turns brought.
struct Import {
  Position position = 0;
  Tokens tokens;  // but those computed anew
};

// Where a turn of the user's begins to say something, and its number among the chat's turns: what
// the format writes in front of one is what it writes in front of another.
struct Cut {
  Position position = 0;
  std::size_t turn = 0;
};

// What goes where the window slides: the turns up to cut n_cuts, and where that is not enough what
// was said first behind them.
struct Slide {
  Gone gone;
  std::size_t n_cuts = 0;
  bool takes_all = false;  // all turns, and what opens the next one, since what opened the first
                           // is in its place
};

// What went for others (kSlide) since the conversation began, the oldest turns first. What is
// computed behind is approximate.
struct Dropped {
  std::uint64_t dropped_tokens = 0, dropped_turns = 0;
};

}  // namespace pc
