// Where in an automaton a text can be: all ways at once.
//
// Rules that are called at the same byte share one frame, which knows all who called (Tomita's
// graph-structured stack, 1985): so ways that only differ in what stands around them are walked
// once, and a state has never more threads than the automaton has nodes, for each byte at which
// one of its frames was made. A call at the very end of a rule goes back to where the rule would:
// a list whose rule ends in itself is as deep behind its millionth item as behind its second.
//
// Immutable values that share their frames. Threads: any.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/constrain/automata/automaton.h"
#include "runtime/constrain/automata/frame.h"

namespace pc::constrain {

struct Thread {
  NodeId node;
  std::uint32_t count;  // in a counted rule: its characters that have begun; else 0
  FramePtr frame;
};

struct State {
  std::vector<Thread> threads;  // at nodes with edges; sorted
  bool may_end = false;
  Fingerprint fingerprint;

  bool is_dead() const { return threads.empty() && !may_end; }
};

State start_of(const Automaton& automaton);
// Dead where the byte cannot come.
State behind_byte(const Automaton& automaton, const State& state, std::uint8_t byte);
// Where it goes on once the rule that has this frame is over.
State behind_rule(const Automaton& automaton, const FramePtr& frame);

}  // namespace pc::constrain
