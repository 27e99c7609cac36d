#include "tools/serve/request/answer_fields.h"

#include <algorithm>
#include <set>

namespace pc::serve {
namespace {

// A choice that needs tools must have them, and a name must be one's.
void check(const Fields& body, const ToolChoice& choice, const Json& tools) {
  if (!choice.must_call()) return;
  if (tools.is_null()) body.refuse("tool_choice", "needs \"tools\"");
  const std::vector<Json> list = tools.items();
  const auto is_it = [&](const Json& tool) {
    return tool["function"]["name"] == Json(choice.name);
  };
  if (choice.kind == ToolChoice::Kind::kNamed && std::ranges::none_of(list, is_it))
    body.refuse("tool_choice", "names \"" + choice.name + "\", which is none of the tools");
}

// {"type": "function", "function": {"name"}}, or the name beside the type.
ToolChoice named_tool(Fields& fields) {
  fields.only("type", {"function"}, "must be \"function\" or \"allowed_tools\"");
  auto function = fields.nested("function");
  return {ToolChoice::Kind::kNamed, (function ? *function : fields).required_string("name")};
}

// Which of the tools may be called.
ToolChoice allowed_tools(Fields& fields, const Json& tools) {
  auto own = fields.nested("allowed_tools");
  Fields allowed = own ? *own : fields;
  const bool is_required = allowed.word("mode", {"auto", "required"}) == "required";
  const auto list = allowed.array("tools");
  if (!list || list->items().empty()) allowed.refuse("tools", "is missing: a list");
  ToolChoice choice;
  std::set<std::string> names;
  for_each_item(*list, allowed.path_of("tools"), [&](const Json& item, const std::string& at) {
    Fields tool = allowed.inside(item, at);
    const std::string type = tool.string("type").value_or("function");
    if (type != "function") return tool.leave_out("is of type \"" + type + "\", which is not here");
    names.insert(named_tool(tool).name);
  });
  choice.allowed.assign(names.begin(), names.end());
  for (const Json& tool : tools.items()) names.erase(tool["function"]["name"].string());
  if (!names.empty())
    allowed.refuse("tools", "names \"" + *names.begin() + "\", which is none of the tools");
  if (is_required) choice.kind = ToolChoice::Kind::kRequired;
  if (choice.allowed.empty()) choice.kind = ToolChoice::Kind::kNone;
  return choice;
}

void add_effort(Fields& fields, const char* name, Json* variables) {
  if (!fields.any(name)) return;
  const std::string effort =
      fields.word(name, {"none", "minimal", "low", "medium", "high", "xhigh"});
  if (effort == "none")
    variables->set("enable_thinking", false);
  else
    variables->set("reasoning_effort", effort);
}

Json or_null(const Json& variables) {
  return variables.keys().empty() ? Json() : variables;
}

}  // namespace

ToolChoice openai_tool_choice(Fields& body, const Json& tools) {
  const auto json = body.any("tool_choice");
  ToolChoice choice;
  if (!json || *json == Json("auto")) return choice;
  if (json->is_object()) {
    Fields fields = body.inside(*json, "tool_choice");
    if (fields.any("type") == Json("allowed_tools"))
      choice = allowed_tools(fields, tools);
    else
      choice = named_tool(fields);
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

ToolChoice anthropic_tool_choice(Fields& body, const Json& tools, bool* one_call) {
  auto fields = body.nested("tool_choice");
  ToolChoice choice;
  if (!fields) return choice;
  const std::string type = fields->required_string("type");
  if (type == "none") choice.kind = ToolChoice::Kind::kNone;
  if (type == "any") choice.kind = ToolChoice::Kind::kRequired;
  if (type == "tool") {
    choice.kind = ToolChoice::Kind::kNamed;
    choice.name = fields->required_string("name");
  }
  if (type != "auto" && choice.kind == ToolChoice::Kind::kAuto)
    fields->refuse("type", "must be one of: auto, any, tool, none");
  *one_call = fields->boolean("disable_parallel_tool_use").value_or(false);
  check(body, choice, tools);
  return choice;
}

Json tools_in_prompt(const Json& tools, const ToolChoice& choice, const ModelFacts& model) {
  if (tools.is_null() || model.holds_calls || choice.must_call()) return tools;
  Json kept = Json::array();
  for (const Json& tool : tools.items())
    if (choice.lets_call(tool["function"]["name"].string())) kept.push(tool);
  return kept.items().empty() ? Json() : kept;
}

Json openai_variables(Fields& body) {
  Json variables = Json::object();
  add_effort(body, "reasoning_effort", &variables);
  if (const auto thinks = body.boolean("enable_thinking"))
    variables.set("enable_thinking", *thinks);
  const Json own = body.object("chat_template_kwargs").value_or(Json());
  for (const std::string& name : own.keys()) variables.set(name, own[name]);
  return or_null(variables);
}

Json responses_variables(Fields& body) {
  Json variables = Json::object();
  if (auto reasoning = body.nested("reasoning")) add_effort(*reasoning, "effort", &variables);
  return or_null(variables);
}

}  // namespace pc::serve
