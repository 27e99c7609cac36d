#include "tools/serve/openai/responses_input.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/serve/request/answer_fields.h"
#include "tools/serve/request/conversation_json.h"
#include "tools/serve/request/provider_text.h"

namespace pc::serve {
namespace {

Json content_of(Fields& item, const char* name, bool is_system = false) {
  const auto content = item.any(name);
  if (!content || (!content->is_string() && !content->is_array()))
    item.refuse(name, "must be a string or a list of parts");
  if (!content->is_string()) return read_parts(item, *content, name, is_system).json();
  return is_system ? for_model(content->string(), item.path_of(name), &item) : content->string();
}

// What tools of other servers, and of programs that have them, leave in a conversation.
bool is_of_other_tools(const std::string& type) {
  static const std::set<std::string> kTypes = {"web_search_call",
                                               "file_search_call",
                                               "computer_call",
                                               "computer_call_output",
                                               "code_interpreter_call",
                                               "image_generation_call",
                                               "local_shell_call",
                                               "local_shell_call_output",
                                               "shell_call",
                                               "shell_call_output",
                                               "apply_patch_call",
                                               "apply_patch_call_output",
                                               "mcp_call",
                                               "mcp_list_tools",
                                               "mcp_approval_request",
                                               "mcp_approval_response",
                                               "tool_search_call",
                                               "tool_search_output"};
  return kTypes.contains(type);
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
      add_call(fields, arguments_of_call(fields));
    else if (type == "custom_tool_call")
      add_call(fields, Json::object().set("input", fields.required_string("input")));
    else if (type == "function_call_output" || type == "custom_tool_call_output")
      add_output(fields);
    else if (type == "reasoning")
      add_thought(fields);
    else if (is_of_other_tools(type))
      fields.leave_out("is of type \"" + type + "\", a tool that this server does not have");
    else
      fields.refuse("type", "is \"" + type +
                                "\", but this server reads messages, thoughts, calls of "
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
    fields.skip({"phase"});
    if (role != "user" && role != "assistant" && role != "system")
      fields.refuse("role", "must be one of: user, assistant, system, developer");
    const bool is_empty = role == "assistant" && !fields.any("content");
    const Json content = is_empty ? Json("") : content_of(fields, "content", role == "system");
    add(Json::object().set("role", role).set("content", content));
  }

  // A thought belongs to what the model said or called behind it. One that is encrypted, or told in
  // a summary alone, is another server's.
  void add_thought(Fields& fields) {
    fields.skip({"summary", "encrypted_content"});
    std::string text;
    if (const auto parts = fields.array("content"))
      for_each_item(*parts, fields.path_of("content"),
                    [&](const Json& part, const std::string& at) {
                      Fields of_part = fields.inside(part, at);
                      of_part.only("type", {"reasoning_text"}, "must be \"reasoning_text\"");
                      text += of_part.required_string("text");
                    });
    thought_ += text;
    const bool is_told = fields.any("encrypted_content") ||
                         !fields.array("summary").value_or(Json::array()).items().empty();
    if (text.empty() && is_told)
      fields.leave_out(
          "has no text of what was thought, but a summary or what only its server reads");
  }

  void add_call(Fields& fields, const Json& arguments) {
    const std::string id = fields.required_string("call_id");
    const Json function =
        Json::object().set("name", fields.required_string("name")).set("arguments", arguments);
    if (messages_.empty() || messages_.back()["role"] != Json("assistant"))
      add(Json::object().set("role", "assistant").set("content", ""));
    Json calls = Json::array();
    for (const Json& call : messages_.back()["tool_calls"].items()) calls.push(call);
    calls.push(Json::object().set("id", id).set("type", "function").set("function", function));
    messages_.back().set("tool_calls", calls);
  }

  void add_output(Fields& fields) {
    const std::string id = fields.required_string("call_id");
    fields.skip({"name"});
    const Json output = fields.any("output") ? content_of(fields, "output") : Json("");
    add(Json::object().set("role", "tool").set("tool_call_id", id).set("content", output));
  }

  void add(Json message) {
    if (message["role"] == Json("assistant") && !thought_.empty())
      message.set("reasoning_content", thought_);
    thought_.clear();
    messages_.push_back(std::move(message));
  }

  std::string thought_;

  std::vector<Json> messages_;
};

Json tool_of(Fields& fields) {
  Json function = Json::object().set("name", fields.required_string("name"));
  if (const auto description = fields.string("description"))
    function.set("description", *description);
  if (fields.boolean("strict").value_or(false)) function.set("strict", true);
  function.set("parameters", fields.object("parameters").value_or(no_parameters()));
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

Json responses_tools(Fields& body, const ModelFacts& model, ToolChoice* choice) {
  Json tools = Json::array();
  for_each_item(body.array("tools").value_or(Json::array()), "tools",
                [&](const Json& tool, const std::string& path) {
                  Fields fields = body.inside(tool, path);
                  const std::string type = fields.required_string("type");
                  if (type != "function") return leave_out_tool(fields, type);
                  tools.push(tool_of(fields));
                });
  check_tool_names(tools);
  if (tools.items().empty()) tools = Json();
  *choice = openai_tool_choice(body, tools);
  return tools_in_prompt(tools, *choice, model);
}

}  // namespace pc::serve
