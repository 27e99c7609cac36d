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
  // The prompt's chain, in which found links are marked as attached. Whoever computes the chain
  // first attaches their files, each from the link's first token on.
  Chain chain;
  // [links]; a Lookup that is neither a hit nor a miss: the link is of a kind that is never stored.
  std::vector<Lookup> lookups;

  std::uint64_t n_found() const;  // tokens
};

struct LinkLimits {
  bool reuse = true;                // modules are attached
  std::span<const Anew> anew = {};  // as LoadedPrompt::chain has it
  Position end = 0;                 // links that reach beyond this position are not looked for
  // Where the text leaves out a stretch of a kept one and then goes on as it does, the kept states
  // behind the stretch are used, too. They saw the stretch, so they are approximate. Never for
  // models with learned positions.
  bool moves = false;
};

FoundChain find_links(const LoadedPrompt& prompt, const LinkLimits& limits);

}  // namespace pc
