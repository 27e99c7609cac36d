#include "tools/serve/request/answer_fields.h"

#include <algorithm>

namespace pc::serve {
namespace {

// A choice that needs tools must have them, and a name must be one's.
void check(const Fields& body, const ToolChoice& choice, const Json& tools) {
  const bool needs =
      choice.kind == ToolChoice::Kind::kRequired || choice.kind == ToolChoice::Kind::kNamed;
  if (!needs) return;
  if (tools.is_null()) body.refuse("tool_choice", "needs \"tools\"");
  const std::vector<Json> list = tools.items();
  const auto is_it = [&](const Json& tool) {
    return tool["function"]["name"] == Json(choice.name);
  };
  if (choice.kind == ToolChoice::Kind::kNamed && std::ranges::none_of(list, is_it))
    body.refuse("tool_choice", "names \"" + choice.name + "\", which is none of the tools");
}

}  // namespace

Format openai_format(const Json& json, const std::string& path, bool is_nested) {
  Fields fields(json, path);
  const std::string type = fields.required_string("type");
  if (type == "text") return {};
  if (type == "json_object") return {Format::Kind::kJson};
  if (type != "json_schema")
    fields.refuse("type", "must be one of: text, json_object, json_schema");
  Fields of_schema = is_nested ? Fields(fields.object("json_schema").value_or(Json::object()),
                                        path + ".json_schema")
                               : fields;
  of_schema.string("name");
  const bool strict = of_schema.boolean("strict").value_or(false);
  const auto schema = of_schema.object("schema");
  if (!schema) of_schema.refuse("schema", "is missing: an object");
  return {Format::Kind::kSchema, *schema, path + (is_nested ? ".json_schema" : "") + ".schema",
          strict};
}

ToolChoice openai_tool_choice(Fields& body, const Json& tools) {
  const auto json = body.any("tool_choice");
  ToolChoice choice;
  if (!json || *json == Json("auto")) return choice;
  if (json->is_object()) {
    Fields fields(*json, "tool_choice");
    fields.only("type", {"function"}, "must be \"function\"");
    choice.kind = ToolChoice::Kind::kNamed;
    const auto function = fields.object("function");
    choice.name = function ? Fields(*function, "tool_choice.function").required_string("name")
                           : fields.required_string("name");
  } else if (*json == Json("none")) {
    choice.kind = ToolChoice::Kind::kNone;
  } else if (*json == Json("required")) {
    choice.kind = ToolChoice::Kind::kRequired;
  } else {
    body.refuse("tool_choice", "must be \"auto\", \"none\", \"required\" or a function");
  }
  check(body, choice, tools);
  return choice;
}

ToolChoice anthropic_tool_choice(Fields& body, const Json& tools) {
  const auto json = body.object("tool_choice");
  ToolChoice choice;
  if (!json) return choice;
  Fields fields(*json, "tool_choice");
  const std::string type = fields.required_string("type");
  if (type == "none") choice.kind = ToolChoice::Kind::kNone;
  if (type == "any") choice.kind = ToolChoice::Kind::kRequired;
  if (type == "tool") {
    choice.kind = ToolChoice::Kind::kNamed;
    choice.name = fields.required_string("name");
  }
  if (type != "auto" && choice.kind == ToolChoice::Kind::kAuto)
    fields.refuse("type", "must be one of: auto, any, tool, none");
  check(body, choice, tools);
  return choice;
}

}  // namespace pc::serve
