// Does reuse change what a model answers, and which repair mends it? Measured on prompts: each is
// answered after a full prefill, and then with its modules in each of several ways, and compared
// token by token.
//
// The answer of the full prefill is fed to the other ways (teacher forcing), so that every token of
// it is compared in the same context, not only those in front of the first difference: a good first
// token is not a good answer (docs/ANSWERS.md).
//
// Threads: any; what it computes, the engine's scheduler does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "pml/syntax/repair.h"
#include "runtime/prompt/loaded_prompt.h"

namespace pc {

// Of an answer: what each token is drawn from is kept, 1 MiB in a large vocabulary.
inline constexpr std::uint32_t kMostAnswerTokens = 256;

struct AnswerCheckOptions {
  std::uint32_t answer_tokens = 16;  // of each answer that are compared, at most
  // Prompts done, of so many; called after each answer and now and then while something is
  // computed, on the caller's thread. False asks to stop.
  std::function<bool(std::uint32_t done, std::uint32_t total)> progress = nullptr;
};

// What a way does to the answers; shares are of 1.
struct AnswerWay {
  pml::Repair repair;
  double anew = 0.0;          // of the modules' tokens: computed anew
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

struct AnswerCheck {
  std::uint32_t n_prompts = 0;
  std::uint32_t n_exact = 0;       // of these: nothing in them is approximate
  std::uint64_t n_tokens = 0;      // compared
  std::uint64_t full_ttft_us = 0;  // of full prefills, median
  std::vector<AnswerWay> ways;     // none where all prompts are exact
  pml::Repair chosen;              // of the ways that pass, the one with the earliest first token

  // Where all prompts are exact, nothing is compared.
  bool says_something() const { return n_exact < n_prompts; }
};

// A way passes where at least this share of the answers' tokens is what the full prefill draws
// (docs/ANSWERS.md, "The check", has what that means for right answers).
inline constexpr double kLeastSameTokens = 0.97;

// The ways that are tried, from the cheapest: none, leading:16, leading:64, attended and selected
// at 15 and 30 %, and all, which computes every approximate token anew and is a full prefill.
// Without selected where the model has one layer.
std::vector<pml::Repair> checked_repairs(const Engine& engine);

// Prompts of one schema; their modules are found or encoded first. A way is what repair="auto" on
// the schema would do: modules keep repairs of their own, what a prompt says of them is left aside.
// Errors: kInvalidArgument, no prompts; kCancelled; a session's.
Result<AnswerCheck> check_answers(std::span<const std::shared_ptr<const LoadedPrompt>> prompts,
                                  const AnswerCheckOptions& options);

}  // namespace pc
