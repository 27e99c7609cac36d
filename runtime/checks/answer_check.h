// Does reuse change what a model answers, and what mends it? Measured on prompts: each is answered
// after a full prefill, and then with its modules in each of several ways.
//
// Compared is what the answers say, each drawn by its way alone: a way that says something else has
// lost the answer. Beside it stand figures that say why: the full prefill's answer is fed to the
// other ways (teacher forcing), so that every token of it is compared in the same context, not only
// those in front of the first difference. A good first token is not a good answer, and nor is a
// share of good tokens (docs/ANSWERS.md).
//
// Threads: any; what it computes, the engine's scheduler does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "pml/syntax/repair.h"
#include "runtime/checks/answer_ways.h"
#include "runtime/prompt/loaded_prompt.h"

namespace pc {

// Of an answer: what each token is drawn from is kept, 1 MiB in a large vocabulary.
inline constexpr std::uint32_t kMostAnswerTokens = 256;

struct AnswerCheckOptions {
  std::uint32_t answer_tokens = 24;  // of each answer that are compared, at most
  // Prompts done, of so many; called after each answer and now and then while something is
  // computed, on the caller's thread. False asks to stop.
  std::function<bool(std::uint32_t done, std::uint32_t total)> progress = nullptr;
};

struct AnswerCheck {
  std::uint32_t n_prompts = 0;
  std::uint32_t n_exact = 0;       // of these: nothing in them is approximate
  std::uint64_t n_tokens = 0;      // compared
  std::uint64_t full_ttft_us = 0;  // of full prefills, median
  std::vector<AnswerWay> ways;     // none where all prompts are exact
  // What was chosen for the schema as it stands, and for the same with attend="slots": `all` where
  // nothing else passes there. None of the latter where there was no such schema to try: it has
  // slots, or cannot have them (LoadedSchema::in_slots).
  pml::Repair chosen;
  std::optional<pml::Repair> chosen_in_slots;
  bool slots_are_best = false;  // of all ways, one in slots

  // Where all prompts are exact, nothing is compared.
  bool says_something() const { return n_exact < n_prompts; }
};

// Prompts of one schema; their modules are found or encoded first, those in slots too. A way is
// what repair="auto" on the schema would do: modules keep repairs of their own, what a prompt says
// of them is left aside. in_slots: LoadedSchema::in_slots() of the schema, or null.
// Errors: kInvalidArgument, no prompts; kCancelled; a session's.
Result<AnswerCheck> check_answers(std::span<const std::shared_ptr<const LoadedPrompt>> prompts,
                                  const std::shared_ptr<LoadedSchema>& in_slots,
                                  const AnswerCheckOptions& options);

}  // namespace pc
