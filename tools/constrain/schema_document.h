// A schema as it was given: its parts by their places, and who may be referred to.
//
// Owner of a copy. Threads: one at a time.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/constrain/schema_error.h"
#include "tools/json.h"

namespace pc::constrain {

using cli::Json;

// A schema in a document.
struct SchemaPart {
  Json json;
  std::string pointer;

  // What a keyword holds: one schema, a list of them, or schemas with names.
  SchemaPart at(const std::string& keyword) const;
  std::vector<SchemaPart> items(const std::string& keyword) const;
  std::vector<std::pair<std::string, SchemaPart>> members(const std::string& keyword) const;
};

class SchemaDocument {
 public:
  // Throws SchemaError where it is too large.
  SchemaDocument(const Json& root, std::string name);

  SchemaPart root() const { return {root_, ""}; }
  // What "$ref" of a part refers to. Throws SchemaError where that is nothing, or elsewhere.
  SchemaPart referred(const SchemaPart& part);

  [[noreturn]] void refuse(const SchemaPart& part, const std::string& reason) const {
    throw SchemaError(name_, part.pointer, reason);
  }
  [[noreturn]] void refuse(const std::string& reason) const {
    throw SchemaError(name_, "", reason);
  }

 private:
  Json at(const std::string& pointer, const SchemaPart& from);

  Json root_;
  std::string name_;
  std::map<std::string, Json> found_;
};

}  // namespace pc::constrain
