#include "tools/serve/anthropic/anthropic_messages.h"

#include <string>

#include "tools/serve/anthropic/text_blocks.h"
#include "tools/serve/request/content_parts.h"
#include "tools/serve/request/conversation_json.h"

namespace pc::serve {
namespace {

// What the provider's own tools leave in a conversation.
bool is_of_provider(const std::string& type) {
  return type == "server_tool_use" || type == "mcp_tool_use" || type == "redacted_thinking" ||
         (type != "tool_result" && type.ends_with("_tool_result"));
}

// The blocks of one message, which become messages: results of tools one each, the others one.
class Blocks {
 public:
  explicit Blocks(std::string role) : role_(std::move(role)) {}

  void add_text(std::string text) { text_.add(std::move(text), false); }

  void read(Fields fields) {
    const std::string type = fields.required_string("type");
    if (role_ == "assistant") fields.skip({"citations"});  // of the answer that it was
    if (type == "tool_use")
      calls_.push(call_of(fields));
    else if (type == "tool_result")
      results_.push_back(result_of(fields));
    else if (type == "thinking")
      add_thought(fields);
    else if (role_ == "assistant" && is_of_provider(type))
      fields.leave_out("is of type \"" + type + "\", which only its provider can read");
    else
      add_text_block(fields, &text_);
  }

  // Results answer calls of the message before, so they come first.
  void add_to(Json* messages) const {
    for (const Json& result : results_) messages->push(result);
    const bool has_calls = !calls_.items().empty();
    if (text_.empty() && !has_calls && !results_.empty()) return;
    Json message = Json::object().set("role", role_).set("content", text_.json());
    if (has_calls) message.set("tool_calls", calls_);
    if (!thought_.empty()) message.set("reasoning_content", thought_);
    messages->push(message);
  }

 private:
  void add_thought(Fields& fields) {
    fields.skip({"signature"});
    thought_ += fields.required_string("thinking");
  }
  static Json call_of(Fields& fields) {
    const std::string id = fields.required_string("id");
    const Json function = Json::object()
                              .set("name", fields.required_string("name"))
                              .set("arguments", arguments_of_call(fields, "input"));
    is_marked(fields);  // its text stands in the template's words, and is no part by itself
    return Json::object().set("id", id).set("type", "function").set("function", function);
  }
  static Json result_of(Fields& fields) {
    ContentParts content;
    if (fields.any("content")) content = text_blocks(fields, "content");
    if (fields.boolean("is_error").value_or(false)) {
      if (content.empty()) content.add("error", false);
      fields.leave_out(fields.path_of("is_error"), "is read by no template; the text is");
    }
    is_marked(fields);
    return Json::object()
        .set("role", "tool")
        .set("tool_call_id", fields.required_string("tool_use_id"))
        .set("content", content.json());
  }

  const std::string role_;
  ContentParts text_;
  std::string thought_;
  Json calls_ = Json::array();
  std::vector<Json> results_;
};

void add_message(Fields fields, Json* messages) {
  const std::string role = fields.required_string("role");
  if (role != "user" && role != "assistant" && role != "system")
    fields.refuse("role", "must be \"user\" or \"assistant\"");
  const auto content = fields.any("content");
  if (!content) fields.refuse("content", "is missing: a string or a list of blocks");
  Blocks blocks(role);
  if (content->is_array())
    for_each_item(
        *content, fields.path_of("content"),
        [&](const Json& block, const std::string& at) { blocks.read(fields.inside(block, at)); });
  else if (content->is_string())
    blocks.add_text(content->string());
  else
    fields.refuse("content", "must be a string or a list of blocks");
  blocks.add_to(messages);
}

}  // namespace

Json anthropic_messages(Fields& body) {
  Json messages = Json::array();
  if (body.any("system"))
    messages.push(Json::object()
                      .set("role", "system")
                      .set("content", text_blocks(body, "system", true).json()));
  const auto list = body.array("messages");
  if (!list || list->items().empty()) body.refuse("messages", "is missing: a list");
  for_each_item(*list, "messages", [&](const Json& message, const std::string& path) {
    add_message(body.inside(message, path), &messages);
  });
  return messages;
}

Json anthropic_tools(Fields& body) {
  const auto list = body.array("tools");
  if (!list || list->items().empty()) return Json();
  Json tools = Json::array();
  for_each_item(*list, "tools", [&](const Json& tool, const std::string& path) {
    Fields fields = body.inside(tool, path);
    const std::string type = fields.string("type").value_or("custom");
    if (type != "custom") return leave_out_tool(fields, type);
    Json function = Json::object().set("name", fields.required_string("name"));
    if (const auto description = fields.string("description"))
      function.set("description", *description);
    function.set("parameters", fields.object("input_schema").value_or(no_parameters()));
    if (fields.boolean("strict").value_or(false)) function.set("strict", true);
    Json read = Json::object().set("type", "function").set("function", function);
    tools.push(is_marked(fields) ? read.set("marked", true) : read);
  });
  check_tool_names(tools);
  return tools.items().empty() ? Json() : tools;
}

}  // namespace pc::serve
