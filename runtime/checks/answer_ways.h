// The ways in which a check of answers (answer_check.h) uses modules, what each does to the
// answers, and which of them is chosen.
//
// Values. Threads: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pml/syntax/repair.h"
#include "runtime/engine/engine.h"

namespace pc {

struct CheckedWay {
  pml::Repair repair;
  bool in_slots = false;  // as if the schema said attend="slots"
};

// Every token that is not exact: the answer is the full prefill's.
inline constexpr pml::Repair kEverythingAnew{pml::Repair::Kind::kLeading, pml::kAllTokens, 0.0};

// From the cheapest: none, leading:16, leading:64, attended and selected at 15 and 30 %, and all,
// which computes every approximate token anew and is a full prefill; and in slots none and attended
// at 15 and 30 %. Without selected where the model has one layer; none and all alone where layers
// carry states.
std::vector<CheckedWay> checked_ways(const Engine& engine);

// What a way does to the answers; shares are of 1.
struct AnswerWay {
  CheckedWay way;
  double anew = 0.0;  // of the modules' tokens: computed anew
  // Of the answers: drawn by the way itself, it says what the full prefill's says
  // (answer_content.h).
  double kept = 0.0;
  double same_tokens = 0.0;   // of the answers' tokens: the way would have drawn the same
  double same_first = 0.0;    // of the answers: their first token is the same
  double same_answers = 0.0;  // of the answers: every token is the same
  // Kullback-Leibler divergence of the way's distribution from the full prefill's, in nats: the
  // mean over all tokens, and over first tokens.
  double divergence = 0.0, first_divergence = 0.0;
  std::uint64_t ttft_us = 0;  // median
  double faster = 0.0;  // median of the full prefill's time to the first token over this way's
  bool passes = false;
};

// A way passes where it keeps at least this share of the answers (docs/ANSWERS.md, "The check", has
// what that means for right answers). Where all is computed anew, the others are rounding's.
inline constexpr double kLeastKept = 0.85;

// Times within this ratio are one: it is about what they differ by from run to run.
inline constexpr double kSameTime = 1.05;

bool passes(const AnswerWay& way);

// Of the ways that pass, the one with the earliest first token; of those as early as that, the one
// that keeps most answers, then most tokens. in_slots: of these alone, or of those alone that are
// not; nothing: of all. Null: none passes.
const AnswerWay* best_way(std::span<const AnswerWay> ways, std::optional<bool> in_slots);

}  // namespace pc
