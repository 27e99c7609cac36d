// A prompt as it was written: the tree that prompt_parser.h makes and
// resolve.h reads. Whether its names exist is for resolve.h to say.
//
// Immutable value that owns its text. Threads: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pml/syntax/place.h"
#include "pml/syntax/schema.h"  // Role

namespace pc::pml {

struct Argument {
  std::string name;
  std::string value;  // taken as it stands
};

struct PromptNode {
  enum class Kind : std::uint8_t { kText, kImport, kRole };

  Kind kind = Kind::kText;
  Role role = Role::kUser;  // kRole
  Place place;
  std::string name;                  // kImport: the module's name among its siblings
  std::string text;                  // kText: folded
  bool markup = false;               // kText: a chat format's, in which control tokens count
  std::vector<Argument> arguments;   // kImport
  std::vector<PromptNode> children;  // kImport, kRole
};

struct Prompt {
  std::string schema;  // name of the schema it is written for
  Place place;
  std::optional<Repair> repair = {};  // none: the schema's
  std::vector<PromptNode> children;
};

}  // namespace pc::pml
