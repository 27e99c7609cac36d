// Whose prefill a step computes: decisions over what waits, without clocks, locks or models.
//
// The first of a step is of the client that was given least, and among its own the one with the
// least left, so that a title of 20 tokens does not wait for a document of 9,000. What room is
// left goes to those that are done with it, who share modules with the step before others, and
// then to the others in the same order.
//
// Nobody starves: a client's oldest that was behind younger ones in kMostBehind of its client's
// turns has the next one. So of any kMostBehind + 1 turns of a client its oldest has one, and a
// prefill of n tokens behind older ones of m is done, where a step has room for b, after at most
// (kMostBehind + 1) * (ceil(n / b) + the sum of ceil(m / b)) turns, whatever comes meanwhile.
//
// Pure functions of values. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace pc {

// In so many turns of a client, younger prefill may go before the client's oldest.
inline constexpr std::uint32_t kMostBehind = 4;

struct WaitingPrefill {
  std::uint64_t n_left = 0;    // tokens
  std::uint64_t number = 0;    // in the order in which they came
  std::uint64_t client = 0;    // whose it is
  std::uint64_t share = 0;     // tokens that its client was given
  std::uint32_t n_behind = 0;  // turns of its client in which it was the oldest, and not first
  bool shares = false;         // modules with what the step has
  bool taken = false;          // by the step
};

// Indices into `waiting`: the prefill that has the next turn, and the oldest of the same client.
struct PrefillTurn {
  std::size_t first, oldest;
};
// Nothing where nobody waits.
std::optional<PrefillTurn> prefill_turn(std::span<const WaitingPrefill> waiting);

// The index of the prefill that gets the rest of a step, which has room for so many tokens; of
// those that are not taken. Nothing where all are taken.
std::optional<std::size_t> next_prefill(std::span<const WaitingPrefill> waiting,
                                        std::uint32_t room);

}  // namespace pc
