// What the modules of a flat prompt see while they are encoded: the context of
// each, as a job (encode_plan.h).
//
// A module sees the text that is always before it, that is its ancestors' own
// (attend=prefix), and the opening of the prompt's turn that it stands in. The
// anonymous text sees itself; a scaffold the anonymous text and its modules as
// they stand in the prompt, with the ends of the prompt's turns that hold them.
//
// Pure. Threads: any.
#pragma once

#include <vector>

#include "pml/encode_plan.h"
#include "pml/flat_prompt.h"

namespace pc::pml {

// The tokens of a prompt's turn as a context holds them: encoded alone.
struct TurnTokens {
  Tokens open;
  Tokens opening;  // of `open` where nothing but BOS stands before it
  Tokens close;
};

// One job for each stored module of the prompt and for the anonymous text, in
// order of the modules' places in the schema. `turns`: one for each of
// flat.turns; those of the schema's own turns are not read.
std::vector<JobSpec> module_jobs(const Layout& layout, const FlatPrompt& flat,
                                 const std::vector<TurnTokens>& turns);

// The job of a scaffold all of whose modules are in the prompt. No steps where
// they have no text of their own.
JobSpec scaffold_job(const Layout& layout, const FlatPrompt& flat,
                     const std::vector<TurnTokens>& turns, std::uint32_t scaffold);

}  // namespace pc::pml
