// A prompt resolved against a loaded schema: its plan, the modules that it needs, and what making
// it took.
//
// Immutable, shared by the sessions that answer it; keeps the schema alive. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pml/plan/plan.h"
#include "pml/turns/messages.h"
#include "runtime/prompt/chain.h"
#include "runtime/prompt/repair.h"
#include "runtime/schema/loaded_schema.h"

namespace pc {

struct LoadedPrompt {
  std::shared_ptr<LoadedSchema> schema;
  pml::Prompt written;
  pml::Plan plan;
  LoadedSchema::Modules modules;  // [plan.jobs]
  // A conversation whose text was written whole: its end opens an answer, which plan.chat does not
  // know of.
  bool is_chat = false;
  std::uint64_t plan_us = 0;

  static Result<std::shared_ptr<const LoadedPrompt>> parse(std::shared_ptr<LoadedSchema> schema,
                                                           std::string_view pml);
  static Result<std::shared_ptr<const LoadedPrompt>> of(std::shared_ptr<LoadedSchema> schema,
                                                        pml::Prompt prompt);
  // Without XML, for this schema: see pml/turns/messages.h.
  static Result<std::shared_ptr<const LoadedPrompt>> of_messages(
      std::shared_ptr<LoadedSchema> schema, std::span<const pml::Message> messages);
  static Result<std::shared_ptr<const LoadedPrompt>> of_text(std::shared_ptr<LoadedSchema> schema,
                                                             std::string_view text);

  // These tokens, as they are: LoadedSchema::plan.
  static Result<std::shared_ptr<const LoadedPrompt>> of_tokens(std::shared_ptr<LoadedSchema> schema,
                                                               std::span<const TokenId> tokens);
  // The tokens of a text, by these rules; behind the schema's own text BOS is not put, and the text
  // does not open.
  static Result<std::shared_ptr<const LoadedPrompt>> of_raw_text(
      std::shared_ptr<LoadedSchema> schema, std::string_view text, Engine::TextRules rules);

  // Of a whole conversation (runtime/prompt/written_chat.h), whose text took plan_us to write.
  static Result<std::shared_ptr<const LoadedPrompt>> of_chat(std::shared_ptr<LoadedSchema> schema,
                                                             pml::Prompt chat,
                                                             std::vector<std::string> remarks,
                                                             std::uint64_t plan_us);

  // The same on the engine's CPU (Engine::on_cpu).
  Result<std::shared_ptr<const LoadedPrompt>> on_cpu(const volatile std::int32_t* cancel) const;

  // kContextFull with the numbers where the prompt and an answer of this many
  // tokens do not fit into the window; where modules are reused, what
  // LoadedSchema::check_size says of each.
  Status check_window(std::uint32_t answer_tokens, bool reuse) const;

  // How many tokens opened the answer; none where a token of what stands before them reaches into
  // the opening, or where no answer's turn is open.
  std::optional<std::uint32_t> n_opening() const;

  // Did the cached run `index` of the plan see, while it was encoded, what stands before it there:
  // the same tokens at the same distances? Then its states are those of a full prefill.
  bool is_exact(std::size_t index) const;

  // How a session computes modules' tokens anew: by what it was asked for, else by what the prompt
  // says, else by what the schema says of the run's module. Precondition: a cached run.
  const pml::Repair& repair_of(const pml::PlanRun& run,
                               const std::optional<pml::Repair>& asked) const;

  // The modules that it imports and that have not seen each other, in document order; none where
  // that is one, or all of them are exact all the same.
  ImportSet side_by_side() const;

  // The plan's runs, without states; each that is not exact with its repair, kAuto not settled.
  std::vector<PlacedRun> placed_runs() const;

  // What a session computes itself where it uses modules, or uses none; with these tokens of them
  // ([plan.runs], or empty).
  Chain chain(bool reuse, std::span<const Anew> anew = {}) const;
  // The rest of such a chain, which has the prompt up to a position: so many tokens in links.
  struct Done {
    std::size_t n_tokens = 0;
    Position end = 0;
  };
  void extend(Chain* chain, const Done& done, bool reuse, std::span<const Anew> anew) const;

  // Up to where a session may take links from the store: the answer's opening, which may have to go
  // again, and the token that gives the first logits are always computed. 0: without a store.
  Position findable_end() const;
};

// The tokens of a plan's last run, if it opens the answer; none where the opening has no token that
// begins in it.
Tokens opening_run(const pml::PlanRun& last);

// Adds a sentence where the tokenizer leaves a character of this text out.
void remark_unspelled(const Tokenizer& tokenizer, std::string_view text,
                      std::vector<std::string>* remarks);

// How many of the last span's tokens opened an answer: all, unless a token of what stands before
// them reaches into `opening`. (A space in front may be the tokenizer's own.)
std::optional<std::uint32_t> opening_tokens(const Tokenizer& tokenizer, const Tokens& last,
                                            const std::string& opening);
// Has the last token of what opens a turn the beginning of what the turn says, too?
bool reaches_beyond(const Tokenizer& tokenizer, const Tokens& last, const std::string& opening);

}  // namespace pc
