// What the store has of a prompt's chain: links of its own, and the first tokens of links that go
// on otherwise, where the chain departs from them (docs/adr/0038-reuse-to-the-token.md).
//
// Computes nothing and pins nothing beyond what it returns; a look-up marks a file's use. Threads:
// any.
#pragma once

#include <span>
#include <vector>

#include "modules/module_store.h"
#include "runtime/prompt/chain.h"
#include "runtime/prompt/loaded_prompt.h"
#include "runtime/prompt/repair.h"

namespace pc {

struct FoundChain {
  // Links that were found are attached in it: whoever computes the chain attaches their files
  // first, each from its first token on.
  Chain chain;
  std::vector<Lookup> lookups;  // [links]; neither found nor missed: one that no store would have

  std::uint64_t n_found() const;  // tokens
};

struct LinkLimits {
  bool reuse = true;                // modules are attached
  std::span<const Anew> anew = {};  // as LoadedPrompt::chain has it
  Position end = 0;                 // no further than that
  // Where a text departs from what was kept and has a later piece of it, that piece's states stand
  // here, too. Approximate: they saw what stood between. Not where the model learned its positions.
  bool moves = false;
};

FoundChain find_links(const LoadedPrompt& prompt, const LinkLimits& limits);

}  // namespace pc
