// A call of a tool, as a model wrote it.
#pragma once

#include <string>

#include "runtime/json/json_value.h"

namespace pc::calls {

struct ToolCall {
  std::string name;
  Json arguments;        // an object
  bool is_whole = true;  // else the answer ended within the call

  friend bool operator==(const ToolCall&, const ToolCall&) = default;
};

// Arguments as an object: of a call that is cut off within them as far as they go; {} where there
// is nothing to read.
Json object_of(const std::string& arguments);

}  // namespace pc::calls
