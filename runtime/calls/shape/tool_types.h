// What the tools of a request are called, and of which types their parameters are.
#pragma once

#include <map>
#include <string>

#include "runtime/json/json_value.h"

namespace pc::calls {

class ToolTypes {
 public:
  ToolTypes() = default;
  explicit ToolTypes(const Json& tools);  // OpenAI's list

  bool empty() const { return parameters_.empty(); }
  bool knows(const std::string& tool) const { return parameters_.contains(tool); }
  // By its own "type".
  bool wants_string(const std::string& tool, const std::string& parameter) const;
  // A value that is written without quotes: a string where the tool wants one, else what it is in
  // JSON, and a string where it is no JSON.
  Json value(const std::string& tool, const std::string& parameter, const std::string& text) const;

 private:
  std::map<std::string, Json> parameters_;  // by tool: "properties" of their schema
};

}  // namespace pc::calls
