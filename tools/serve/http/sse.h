// Server-sent events, as the protocols stream answers.
#pragma once

#include <string>
#include <string_view>

#include "tools/output/json.h"

namespace pc::serve {

inline std::string event(const cli::Json& data) {
  return "data: " + data.dump() + "\n\n";
}

inline std::string named_event(std::string_view name, const cli::Json& data) {
  return "event: " + std::string(name) + "\n" + event(data);
}

}  // namespace pc::serve
