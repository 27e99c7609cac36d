// What the modules of a flat prompt see while they are encoded: the context of
// each, as a job by reference to the layout, of which encode_plan.h makes the
// tokens and positions.
//
// A module sees the text that is always before it, that is its ancestors' own
// (attend=prefix), and the opening of the prompt's turn that it stands in; with
// attend=slots also, in front of its own text and of each ancestor's, as many
// stand-ins as modules stand before that one beside it, from none again behind the last stand-in,
// or as slot_choice.h says. The anonymous text sees itself; a scaffold the anonymous text and its
// modules as they stand in the prompt, with the ends of the prompt's turns that hold them.
//
// Pure. Threads: any.
#pragma once

#include <cstdint>
#include <vector>

#include "pml/layout/flat_prompt.h"
#include "pml/layout/layout.h"
#include "pml/turns/text_encoder.h"  // Tokens

namespace pc::pml {

// The tokens of a prompt's turn as a context holds them: encoded alone.
struct TurnTokens {
  Tokens open;
  Tokens opening;  // the same text as `open`, where nothing but BOS stands before it
  Tokens close;
};

// A step of a pass: a piece or slot of the layout, or tokens that open or close
// a turn of the prompt, or a stand-in.
struct JobStep {
  std::uint32_t item = kNone;    // of Layout::items
  std::uint32_t markup = kNone;  // of JobSpec::markup, where item is kNone
  bool keep = false;
  std::uint32_t stand_in = kNone;  // of Layout::stand_ins, where both are

  friend auto operator<=>(const JobStep&, const JobStep&) = default;
};

// A job by reference to the layout: small, and equal where the jobs are.
struct JobSpec {
  bool scaffold = false;
  std::uint32_t subject = 0;  // index into Layout::modules or, of a scaffold, Layout::scaffolds;
                              // kNone: all modules of a prompt together
  std::uint32_t n_stand_ins = 0;
  std::vector<JobStep> steps;
  std::vector<Tokens> markup;

  friend auto operator<=>(const JobSpec&, const JobSpec&) = default;
};

// One job for each stored module of the prompt and for the anonymous text, in
// order of the modules' places in the schema. `turns`: one for each of
// flat.turns; those of the schema's own turns are not read. flat may be the schema by itself: then
// no module stands before another. slots: {}, or so many stand-ins stand before each module that
// stands directly in the schema, in the prompt's order, instead of as many as modules do.
std::vector<JobSpec> module_jobs(const Layout& layout, const FlatPrompt& flat,
                                 const std::vector<TurnTokens>& turns,
                                 const std::vector<std::uint32_t>& slots = {});

// The job of a scaffold all of whose modules are in the prompt. No steps where
// they have no text of their own.
JobSpec scaffold_job(const Layout& layout, const FlatPrompt& flat,
                     const std::vector<TurnTokens>& turns, std::uint32_t scaffold);

// The job of all stored modules of the prompt, as if a scaffold listed them. No steps where fewer
// than two have text of their own.
JobSpec together_job(const Layout& layout, const FlatPrompt& flat,
                     const std::vector<TurnTokens>& turns);

}  // namespace pc::pml
