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
  // The prompt is a whole conversation in the template's own text (of_chat), although plan.chat has
  // no open turn.
  bool is_chat = false;
  bool ends_in_answer = false;  // that conversation's last message is one that was begun
  std::uint64_t plan_us = 0;

  static Result<std::shared_ptr<const LoadedPrompt>> parse(std::shared_ptr<LoadedSchema> schema,
                                                           std::string_view pml);
  using Together = LoadedSchema::Together;
  static Result<std::shared_ptr<const LoadedPrompt>> of(std::shared_ptr<LoadedSchema> schema,
                                                        pml::Prompt prompt,
                                                        Together together = Together::kWhereFound);
  // A prompt for this schema without XML (pml/turns/messages.h).
  static Result<std::shared_ptr<const LoadedPrompt>> of_messages(
      std::shared_ptr<LoadedSchema> schema, std::span<const pml::Message> messages);
  static Result<std::shared_ptr<const LoadedPrompt>> of_text(std::shared_ptr<LoadedSchema> schema,
                                                             std::string_view text);

  // A prompt that is these tokens; see LoadedSchema::plan.
  static Result<std::shared_ptr<const LoadedPrompt>> of_tokens(std::shared_ptr<LoadedSchema> schema,
                                                               std::span<const TokenId> tokens);
  // A prompt that is a text outside of all turns, tokenised by these rules. Behind a schema that
  // has text of its own, rules.bos and rules.opens count as false.
  static Result<std::shared_ptr<const LoadedPrompt>> of_raw_text(
      std::shared_ptr<LoadedSchema> schema, std::string_view text, Engine::TextRules rules);

  // Of a whole conversation (runtime/prompt/written_chat.h), whose text took plan_us to write.
  static Result<std::shared_ptr<const LoadedPrompt>> of_chat(std::shared_ptr<LoadedSchema> schema,
                                                             pml::Prompt chat, bool ends_in_answer,
                                                             std::vector<std::string> remarks,
                                                             std::uint64_t plan_us);

  // The same prompt with its modules as they were encoded apart, or as all of them are together.
  Result<std::shared_ptr<const LoadedPrompt>> with_modules(Together together) const;

  // The same prompt for the engine's CPU (Engine::on_cpu).
  Result<std::shared_ptr<const LoadedPrompt>> on_cpu(const volatile std::int32_t* cancel) const;

  // kContextFull with the numbers where the prompt and an answer of this many
  // tokens do not fit into the window; where modules are reused, what
  // LoadedSchema::check_size says of each.
  Status check_window(std::uint32_t answer_tokens, bool reuse) const;

  // How many of the prompt's last tokens open the answer; none where no answer's turn is open, or
  // where the opening shares its first token with what stands before it.
  std::optional<std::uint32_t> n_opening() const;

  // What an answer to it begins.
  pml::Begins begins() const;

  // Did the cached run `index` of the plan see, while it was encoded, what stands before it there:
  // the same tokens at the same distances? Then its states are those of a full prefill.
  bool is_exact(std::size_t index) const;

  // How a session computes modules' tokens anew: by what it was asked for, else by what the prompt
  // says, else by what the schema says of the run's module. Precondition: a cached run.
  const pml::Repair& repair_of(const pml::PlanRun& run,
                               const std::optional<pml::Repair>& asked) const;

  // The imported modules that have not seen each other, in document order; empty where it would be
  // one module, or where all of them are exact nevertheless.
  ImportSet side_by_side() const;

  // The plan's runs, without their states. Those that are not exact have their repair, perhaps
  // kAuto.
  std::vector<PlacedRun> placed_runs() const;

  // What a session computes itself. reuse: modules are attached, else computed, too. anew:
  // [plan.runs] or empty, the tokens of modules that are computed anew.
  Chain chain(bool reuse, std::span<const Anew> anew = {}) const;
  // How far a chain of this prompt goes: up to position `end`, with n_tokens in its links. extend()
  // appends the rest.
  struct Done {
    std::size_t n_tokens = 0;
    Position end = 0;
  };
  void extend(Chain* chain, const Done& done, bool reuse, std::span<const Anew> anew) const;

  // Up to which position a session takes links from the store; 0 without a store. Two things are
  // always computed: the answer's opening, since the next turn may need its states gone, and the
  // token that gives the first logits.
  Position findable_end() const;
};

// The tokens of a plan's last run, if that opens the answer; empty where no token begins in the
// opening.
Tokens opening_run(const pml::PlanRun& last);

// Adds a remark where the tokenizer leaves out a character of this text.
void remark_unspelled(const Tokenizer& tokenizer, std::string_view text,
                      std::vector<std::string>* remarks);

// How many of `last`, the tokens of the last span, are the answer's `opening`: all of them; none
// where the token before them reaches into the opening. (A space in front may be the tokenizer's
// own.)
std::optional<std::uint32_t> opening_tokens(const Tokenizer& tokenizer, const Tokens& last,
                                            const std::string& opening);
// Does the last of these tokens, which open a turn, hold the beginning of the turn's text as well?
bool reaches_beyond(const Tokenizer& tokenizer, const Tokens& last, const std::string& opening);

}  // namespace pc
