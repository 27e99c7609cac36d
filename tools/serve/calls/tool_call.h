// A call of a tool, as a model wrote it.
#pragma once

#include <string>

#include "tools/json.h"

namespace pc::serve {

using cli::Json;

struct ToolCall {
  std::string name;
  Json arguments;  // an object

  friend bool operator==(const ToolCall&, const ToolCall&) = default;
};

}  // namespace pc::serve
