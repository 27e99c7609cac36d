// A line that some clients put in front of the system text for the provider, not for the model. It
// changes with every request, so that no text behind it would be found in the store again.
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
