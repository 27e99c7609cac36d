// In which slot each module of a prompt stands (docs/adr/0056-slots-found.md): slots tell modules
// apart, and need not be in the prompt's order, so that states which are there serve in any order.
//
// Pure but for what is asked. Threads: any.
#pragma once

#include <vector>

#include "base/function_ref.h"
#include "pml/layout/contexts.h"

namespace pc::pml {

// Are there states of this job?
using IsStored = FunctionRef<bool(const JobSpec& job)>;

// The jobs of module_jobs(), where each module that stands directly in the schema has a slot of its
// own, or, of more modules than slots, one that no more share than must: that of its place where
// its states are there in it, else the first with room where they are, else that of its place, or
// the one with fewest modules. Asked only where slots hold stand-ins of the schema's, and first for
// those of the modules' places.
std::vector<JobSpec> jobs_in_slots_found(const Layout& layout, const FlatPrompt& flat,
                                         const std::vector<TurnTokens>& turns, IsStored is_stored);

}  // namespace pc::pml
