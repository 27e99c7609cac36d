// What clients put at the front of a system's text for the provider, and not for the model: it
// changes from request to request, so that nothing behind it would be found again.
#pragma once

#include <string>

#include "tools/serve/request/fields.h"

namespace pc::serve {

// The text without its first line, where that is a header of Anthropic's billing; told as left out
// at this path.
inline std::string for_model(std::string text, const std::string& path, Fields* around) {
  if (!text.starts_with("x-anthropic-billing-header:")) return text;
  around->leave_out(path, "begins with a line for the provider, which the model does not see");
  const std::size_t end = text.find('\n');
  return end == text.npos ? "" : text.substr(end + 1);
}

}  // namespace pc::serve
