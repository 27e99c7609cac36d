#include "tools/serve/openai/responses_input.h"

#include <string>
#include <vector>

#include "tools/serve/request/answer_fields.h"
#include "tools/serve/request/conversation_json.h"

namespace pc::serve {
namespace {

Json content_of(Fields& item, const char* name) {
  const auto content = item.any(name);
  if (!content || (!content->is_string() && !content->is_array()))
    item.refuse(name, "must be a string or a list of parts");
  return content->is_string() ? *content : read_parts(item, *content, name).json();
}

// Items of the input, which become messages.
class Items {
 public:
  void read(Fields fields) {
    const std::string type = fields.string("type").value_or("message");
    fields.skip({"id", "status"});  // of the answer that it was
    if (type == "message")
      add_message(fields);
    else if (type == "function_call")
      add_call(fields);
    else if (type == "function_call_output")
      add_output(fields);
    else if (type != "reasoning")  // of another model's answer, which no template takes back
      fields.refuse("type", "is \"" + type +
                                "\", but this server reads messages, calls of "
                                "functions and their outputs");
  }

  Json messages() const {
    Json list = Json::array();
    for (const Json& message : messages_) list.push(message);
    return list;
  }

 private:
  void add_message(Fields& fields) {
    std::string role = fields.required_string("role");
    if (role == "developer") role = "system";  // what templates know
    if (role != "user" && role != "assistant" && role != "system")
      fields.refuse("role", "must be one of: user, assistant, system, developer");
    messages_.push_back(
        Json::object().set("role", role).set("content", content_of(fields, "content")));
  }

  void add_call(Fields& fields) {
    const std::string id = fields.required_string("call_id");
    const Json function = Json::object()
                              .set("name", fields.required_string("name"))
                              .set("arguments", arguments_of_call(fields));
    if (messages_.empty() || messages_.back()["role"] != Json("assistant"))
      messages_.push_back(Json::object().set("role", "assistant").set("content", ""));
    Json calls = Json::array();
    for (const Json& call : messages_.back()["tool_calls"].items()) calls.push(call);
    calls.push(Json::object().set("id", id).set("type", "function").set("function", function));
    messages_.back().set("tool_calls", calls);
  }

  void add_output(Fields& fields) {
    const std::string id = fields.required_string("call_id");
    messages_.push_back(Json::object()
                            .set("role", "tool")
                            .set("tool_call_id", id)
                            .set("content", content_of(fields, "output")));
  }

  std::vector<Json> messages_;
};

Json tool_of(Fields fields) {
  const std::string type = fields.required_string("type");
  if (type != "function")
    fields.refuse("type", "is \"" + type + "\", a tool that runs elsewhere; this server has none");
  fields.boolean("strict");
  Json function = Json::object().set("name", fields.required_string("name"));
  if (const auto description = fields.string("description"))
    function.set("description", *description);
  function.set("parameters", fields.object("parameters").value_or(Json::object()));
  return Json::object().set("type", "function").set("function", function);
}

}  // namespace

Json responses_messages(Fields& body) {
  const auto input = body.any("input");
  const bool is_list = input && input->is_array() && !input->items().empty();
  if (!is_list && !(input && input->is_string()))
    body.refuse("input", "must be a string or a list of items");
  if (input->is_string())
    return Json::array().push(Json::object().set("role", "user").set("content", *input));
  Items items;
  for_each_item(*input, "input", [&](const Json& item, const std::string& path) {
    items.read(body.inside(item, path));
  });
  return items.messages();
}

Json responses_tools(Fields& body, ToolChoice* choice) {
  const auto list = body.array("tools");
  if (!list || list->items().empty()) {
    *choice = openai_tool_choice(body, Json());
    return Json();
  }
  Json tools = Json::array();
  for_each_item(*list, "tools", [&](const Json& tool, const std::string& path) {
    tools.push(tool_of(body.inside(tool, path)));
  });
  check_tool_names(tools);
  *choice = openai_tool_choice(body, tools);
  return choice->kind == ToolChoice::Kind::kNone ? Json() : tools;
}

}  // namespace pc::serve
