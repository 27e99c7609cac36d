// A schema as it was written: the tree that schema_parser.h makes and
// layout_builder.h reads. Names are checked, text is folded, files are read in;
// tokens and positions are not known yet.
//
// Immutable value that owns its text. Threads: thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pml/syntax/place.h"
#include "pml/syntax/repair.h"
#include "pml/syntax/role.h"

namespace pc::pml {

// positions=: do imported pieces close up, or keep their schema's positions?
enum class Positions : std::uint8_t { kCompact, kSchema };

// attend=: what a module sees while it is encoded (docs/PML.md, "attend").
enum class Attend : std::uint8_t { kPrefix, kSelf, kSchema, kSlots };

// Does it see its ancestors' text before it, and the opening of the prompt's turn around it?
constexpr bool sees_prefix(Attend attend) {
  return attend == Attend::kPrefix || attend == Attend::kSlots;
}

struct SchemaNode {
  enum class Kind : std::uint8_t { kText, kParam, kModule, kUnion, kRole };

  Kind kind = Kind::kText;
  Role role = Role::kSystem;          // kRole
  bool cache = true;                  // kModule
  std::optional<Repair> repair = {};  // kModule: none: as what it stands in
  Place place;
  std::string name;                  // kModule, kParam; kUnion: its default member, "" = none
  std::string text;                  // kText; kParam: what stands in the slot while encoding
  bool markup = false;               // kText: a chat format's, in which control tokens count
  std::uint32_t len = 0;             // kParam: room in tokens
  std::vector<SchemaNode> children;  // kModule, kUnion (modules only), kRole
};

struct SchemaScaffold {
  std::string name;
  Place place;
  std::vector<std::string> modules;  // paths, "europe/paris"
};

// With attend=slots: text that stands for a module that another one has not seen.
struct SchemaStandIn {
  Place place;
  std::string text;
};

struct Schema {
  std::string name;
  Positions positions = Positions::kCompact;
  Attend attend = Attend::kPrefix;
  Repair repair;      // of prompts that say nothing
  bool cache = true;  // false: modules are computed where they are used, as part of what is said
  Place place;
  std::vector<SchemaNode> children;
  std::vector<SchemaScaffold> scaffolds;
  std::vector<SchemaStandIn> stand_ins;
};

}  // namespace pc::pml
