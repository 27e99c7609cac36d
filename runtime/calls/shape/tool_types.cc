#include "runtime/calls/shape/tool_types.h"

namespace pc::calls {

ToolTypes::ToolTypes(const Json& tools) {
  for (const Json& tool : tools.items()) {
    const Json function = tool["function"];
    parameters_.emplace(function["name"].string(), function["parameters"]["properties"]);
  }
}

bool ToolTypes::wants_string(const std::string& tool, const std::string& parameter) const {
  const auto found = parameters_.find(tool);
  return found != parameters_.end() && found->second[parameter]["type"] == Json("string");
}

Json ToolTypes::value(const std::string& tool, const std::string& parameter,
                      const std::string& text) const {
  constexpr std::size_t kMaxDepth = 64;
  std::string why;
  const auto json =
      wants_string(tool, parameter) ? std::nullopt : Json::read_strictly(text, kMaxDepth, &why);
  return json ? *json : Json(text);
}

}  // namespace pc::calls
