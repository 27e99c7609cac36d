// What is to happen with what a schema says and nothing here can enforce.
//
// Values. Threads: any.
#pragma once

#include <string>

namespace pc::constrain {

enum class Strictness {
  kStrict,      // the schema is refused
  kBestEffort,  // that keyword is left out, and named; all others are enforced
};

// A keyword that an answer is not held to.
struct LeftOut {
  std::string schema;   // its name, in the caller's words
  std::string pointer;  // of the part that has it, a JSON Pointer; of merged parts, where they meet
  std::string keyword;  // "": all that the part says

  // response_format.json_schema.schema/properties/a: "uniqueItems"
  std::string text() const {
    return schema + pointer + ": " + (keyword.empty() ? "all of it" : "\"" + keyword + "\"");
  }
  friend bool operator==(const LeftOut&, const LeftOut&) = default;
};

}  // namespace pc::constrain
