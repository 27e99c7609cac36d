// A schema that cannot be enforced, with the place and the reason:
//   response_format.json_schema.schema/properties/a: "not" cannot be enforced here
#pragma once

#include <stdexcept>
#include <string>

namespace pc::constrain {

class SchemaError : public std::runtime_error {
 public:
  // name: of the schema, in the caller's words; pointer: a JSON Pointer into it, "" for all of it.
  SchemaError(const std::string& name, const std::string& pointer, const std::string& reason)
      : std::runtime_error(name + pointer + ": " + reason), pointer_(pointer) {}

  const std::string& pointer() const { return pointer_; }

 private:
  std::string pointer_;
};

}  // namespace pc::constrain
