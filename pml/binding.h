// A prompt's names looked up in a layout: which modules it imports, what
// stands in their parameters, and where its own text goes.
//
// Borrows the prompt. Threads: thread-compatible.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "pml/layout.h"
#include "pml/prompt.h"
#include "pml/text_encoder.h"

namespace pc::pml {

// Something that the prompt itself writes at a place of the schema.
struct Written {
  enum class What : std::uint8_t { kText, kOpenRole, kCloseRole };
  What what = What::kText;
  const PromptNode* node = nullptr;
};

struct Import {
  const PromptNode* node = nullptr;  // nullptr: not imported; the root has none either
  std::vector<Written> before;       // stands right before the module
  std::vector<Written> at_end;       // stands after all of the module's own content
};

struct Binding {
  std::vector<Import> modules;    // one for each of Layout::modules
  std::vector<Tokens> arguments;  // one for each of Layout::slots; empty: no argument

  bool imported(std::uint32_t module) const { return module == kRoot || modules[module].node; }
};

// Errors: kPmlSemantic with line:column, or what the encoder gave.
Result<Binding> bind(const Prompt& prompt, const Layout& layout, const TextEncoder& encoder);

}  // namespace pc::pml
