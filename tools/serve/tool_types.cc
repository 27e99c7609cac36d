#include "tools/serve/tool_types.h"

namespace pc::serve {

using cli::Json;

ToolTypes::ToolTypes(const Json& tools) {
  for (const Json& tool : tools.items()) {
    const Json function = tool["function"];
    parameters_.emplace(function["name"].string(), function["parameters"]["properties"]);
  }
}

Json ToolTypes::value(const std::string& tool, const std::string& parameter,
                      const std::string& text) const {
  constexpr std::size_t kMaxDepth = 64;
  const auto found = parameters_.find(tool);
  const bool wants_string =
      found != parameters_.end() && found->second[parameter]["type"] == Json("string");
  std::string why;
  const auto json = wants_string ? std::nullopt : Json::read_strictly(text, kMaxDepth, &why);
  return json ? *json : Json(text);
}

}  // namespace pc::serve
