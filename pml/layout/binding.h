// A prompt's names looked up in a layout: which modules it imports, what
// stands in their parameters, and where its own text goes.
//
// Borrows the prompt. Threads: thread-compatible.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "pml/layout/layout.h"
#include "pml/syntax/prompt.h"
#include "pml/turns/text_encoder.h"

namespace pc::pml {

// Something that the prompt itself writes at a place of the schema.
struct Written {
  enum class What : std::uint8_t { kText, kOpenTurn, kCloseTurn };
  What what = What::kText;
  const PromptNode* node = nullptr;
};

// A module as the prompt imports it, or the root. Text of the prompt stands right behind
// the import that precedes it; text in front of all imports stands right before the first
// one. A turn opens right before the first import or text that is in it.
struct Import {
  const PromptNode* node = nullptr;    // nullptr: not imported; the root has none either
  std::vector<Written> before, after;  // stand right before and right behind the module
  // Inside of this module: its imported modules in the prompt's order; and, where
  // there are none, what the prompt writes there.
  std::vector<std::uint32_t> imports;
  std::vector<Written> inside;
  bool wrapped = false;  // a turn of the prompt encloses some of `imports`
};

struct Binding {
  std::vector<Import> modules;    // one for each of Layout::modules
  std::vector<Tokens> arguments;  // one for each of Layout::slots; empty: no argument

  bool imported(std::uint32_t module) const { return module == kRoot || modules[module].node; }
};

// kPmlSemantic where the prompt is for another schema.
Status check_schema_name(const Prompt& prompt, const Layout& layout);

// Errors: kPmlSemantic with line:column, or what the encoder gave.
Result<Binding> bind(const Prompt& prompt, const Layout& layout, const TextEncoder& encoder);

}  // namespace pc::pml
