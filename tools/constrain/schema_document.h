// A schema as it was given: its parts by their places, and who may be referred to.
//
// Owner of a copy. Threads: one at a time.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/constrain/schema_error.h"
#include "tools/constrain/strictness.h"
#include "tools/output/json.h"

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
  // Throws SchemaError where it is too large. Borrows left_out, and adds to it.
  SchemaDocument(const Json& root, std::string name, Strictness strictness,
                 std::vector<LeftOut>& left_out);

  Strictness strictness() const { return strictness_; }
  SchemaPart root() const { return {root_, ""}; }
  // What "$ref" of a part refers to. Throws Refusal where that is nothing, or elsewhere.
  SchemaPart referred(const SchemaPart& part);

  // The caller goes on without this keyword of the part. Throws SchemaError where all is strict.
  // reason: in words that fit behind "PLACE: ".
  void leave_out(const SchemaPart& part, const std::string& keyword, const std::string& reason);
  void leave_out(const SchemaPart& part, const std::string& keyword) {
    leave_out(part, keyword, "\"" + keyword + "\" cannot be enforced here");
  }

  [[noreturn]] void refuse(const SchemaPart& part, const std::string& reason) const {
    throw SchemaError(name_, part.pointer, reason);
  }
  [[noreturn]] void refuse(const std::string& reason) const {
    throw SchemaError(name_, "", reason);
  }

 private:
  Json at(const std::string& pointer);
  // The pointer of the schema that this keyword names so. Throws Refusal.
  std::string place_of(const std::string& keyword, const std::string& name) const;

  Json root_;
  std::string name_;
  Strictness strictness_;
  std::vector<LeftOut>& left_out_;
  std::map<std::string, Json> found_;
};

}  // namespace pc::constrain
