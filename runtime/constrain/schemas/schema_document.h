// A schema as it was given: its parts by their places, and who may be referred to.
//
// Owner of a copy. Threads: one at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "runtime/constrain/automata/refusal.h"
#include "runtime/constrain/schemas/strictness.h"
#include "runtime/json/json_value.h"

namespace pc::constrain {

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
  // Borrows left_out, and adds to it.
  SchemaDocument(const Json& root, std::string name, Strictness strictness,
                 std::vector<LeftOut>& left_out);

  // Refused at its place where it is no schema, or too large.
  Status check() const;

  Strictness strictness() const { return strictness_; }
  SchemaPart root() const { return {root_, ""}; }
  // What "$ref" of a part refers to. Refused where that is nothing, or elsewhere.
  Result<SchemaPart> referred(const SchemaPart& part);

  // The caller goes on without this keyword of the part; refused at its place where all is strict.
  // reason: in words that fit behind "PLACE: ".
  Status leave_out(const SchemaPart& part, const std::string& keyword, const std::string& reason);
  Status leave_out(const SchemaPart& part, const std::string& keyword) {
    return leave_out(part, keyword, "\"" + keyword + "\" cannot be enforced here");
  }

  Error refused(const SchemaPart& part, const std::string& reason) const {
    return refused_at(name_ + part.pointer, reason);
  }

 private:
  // A part whose own parts, by their names or numbers, are known once one of them was asked for.
  struct Place {
    explicit Place(Json part) : json(std::move(part)) {}
    Place* part(const std::string& key);  // null: there is none

    Json json;
    bool is_open = false;
    std::map<std::string, std::unique_ptr<Place>> parts = {};
  };

  Result<Json> at(const std::string& pointer);
  // The pointer of the schema that this keyword names so.
  Result<std::string> place_of(const std::string& keyword, const std::string& name) const;

  Json root_;
  std::string name_;
  Strictness strictness_;
  std::vector<LeftOut>& left_out_;
  Place places_;
};

}  // namespace pc::constrain
