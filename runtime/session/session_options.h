// How a session reads its prompt and draws its answers.
//
// Values; what is called is called on the caller's thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pml/syntax/repair.h"
#include "pml/turns/text_encoder.h"  // Position
#include "runtime/constrain/grammar/constraint.h"
#include "runtime/sampling/prompt_scores.h"
#include "runtime/sampling/sampler.h"
#include "runtime/tokenizer/text/tokenizer.h"

namespace pc {

// What becomes of a conversation at the end of its window.
enum class Overflow : std::uint32_t {
  kStop,   // turns that do not fit are refused, and an answer ends
  kSlide,  // the oldest turns go, and it goes on (docs/adr/0041-chats-without-an-end.md)
};

// Which token is drawn: the one at `position`, by the session whose owner this is
// (Session::set_owner).
struct DrawPlace {
  const void* owner = nullptr;
  Position position = 0;
};

// How an answer is drawn, and when it is over.
struct AnswerOptions {
  // 0: the prompt is computed, nothing is drawn. None: 256, or less where the context ends before.
  std::optional<std::uint32_t> max_tokens = {};
  bool cut_to_window = false;  // or less, whatever max_tokens is
  SamplerOptions sampler = {};
  // None, or what the answer is held to, at its beginning; compiled for the model's tokens.
  std::optional<constrain::Constraint> constraint = {};
  // Null, or called before each token is drawn, on the caller's thread: clears the bits of tokens
  // that may not be drawn, 32 a word, all set before but those that the constraint forbids; these
  // are cleared again behind it. False: the call ends with kCancelled.
  std::function<bool(std::span<std::uint32_t> allowed, const DrawPlace& at)> mask = {};
  std::vector<std::string> stop = {};
  Tokenizer::Controls controls = Tokenizer::Controls::kHide;  // that the answer has, in its text
  // Tokens that are computed beside the one drawn last, at most, where the text is likely to go on
  // with them: that changes when tokens come, and not which. None: DraftLength's choice; 0: none.
  std::optional<std::uint32_t> max_draft = {};
  // Null, or called before the token that was drawn last is computed, on the caller's thread, where
  // a draft has room: what is likely to follow it, if anything is; else it is what the constraint
  // forces, or is looked up.
  std::function<void(Tokens* next, std::size_t most)> draft = {};
};

struct SessionOptions : AnswerOptions {  // the first answer's, and others' until set_answer()
  Overflow overflow = Overflow::kStop;
  bool no_reuse = false;                   // compute every token of the prompt
  bool moves = false;                      // as LinkLimits has it
  std::optional<pml::Repair> repair = {};  // none: what the prompt or its schema says
  // In a check of answers: what modules have that say nothing themselves, whatever the schema and
  // the prompt say; with it, repair is none.
  std::optional<pml::Repair> checked_repair = {};
  // Null, or called before a prompt or appended turns are computed and now and then meanwhile, on
  // the caller's thread. False: as cancel().
  std::function<bool(std::uint64_t n_done, std::uint64_t n_tokens)> progress;
  // None, or what is told of the prompt's tokens. The tokens from the one before the first that is
  // scored are computed, whatever the store has: modules are used where all of them stand before
  // it.
  std::optional<PromptScoring> scoring = {};
  std::string client;  // who asks: named clients take turns where they want more than a step has

  // Tokens of an answer that there must be room for.
  std::uint32_t least_answer() const {
    const std::uint32_t asked = max_tokens.value_or(1);
    const bool may_be_cut = cut_to_window || overflow == Overflow::kSlide;
    return may_be_cut ? std::min(asked, 1u) : asked;
  }
};

}  // namespace pc
