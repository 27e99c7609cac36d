// A prompt's content in the order in which the model reads it: the schema's
// anonymous text, the imported modules, and what the prompt writes, each in its
// place (docs/PML.md, "Prompts"). No tokens of the prompt's own and no positions yet.
//
// Borrows the prompt's nodes and speaks of the layout by index. Pure. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "pml/layout/binding.h"
#include "pml/layout/layout.h"
#include "pml/syntax/prompt.h"

namespace pc::pml {

struct FlatStep {
  enum class What : std::uint8_t {
    kPiece,       // Layout::pieces[index]; flatten() gives no fresh ones
    kSlot,        // Layout::slots[index], with an argument or without
    kText,        // the prompt's: node->text
    kOpenTurn,    // turns[index] opens, which the prompt wrote
    kCloseTurn,   // turns[index] closes, with tokens that are computed now; item: its fresh piece
    kOpenModule,  // Layout::modules[index]
    kCloseModule,
  };
  What what = What::kText;
  std::uint32_t index = 0;
  std::uint32_t item = kNone;        // of Layout::items, where it is one
  const PromptNode* node = nullptr;  // kText
  std::uint32_t behind = kNone;      // kText: the schema's turn whose tail stands in front of it
};

// A turn of the conversation.
struct FlatTurn {
  Role role = Role::kUser;
  const PromptNode* node = nullptr;   // the prompt's element; nullptr where the schema wrote it
  std::uint32_t schema_turn = kNone;  // of Layout::turns
};

struct FlatPrompt {
  std::vector<FlatStep> steps;
  std::vector<FlatTurn> turns;  // in order
  bool is_schema = false;       // flatten_schema made it
  bool opens_answer = false;    // the assistant's turn is opened behind the last step
  bool ends_bare = false;       // text outside of all turns stands behind the last, a user's
  // Sentences: what stands elsewhere than it was written, and what else the
  // author may not have meant.
  std::vector<std::string> remarks;
};

// Every item of the schema in document order, all members of unions among them:
// what its modules see is the same as in any prompt that opens no turn around them and, with
// attend=slots, imports no other before them.
FlatPrompt flatten_schema(const Layout& layout);

// Errors: kPmlSemantic with line:column, where a turn would stand in another.
Result<FlatPrompt> flatten(const Layout& layout, const Binding& binding);

}  // namespace pc::pml
