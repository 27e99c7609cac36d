#include "tools/serve/anthropic/anthropic_messages.h"

#include <string>

#include "tools/serve/request/content_parts.h"
#include "tools/serve/request/conversation_json.h"

namespace pc::serve {
namespace {

// The text of a string, or of blocks of text.
ContentParts text_of(const Fields& around, const Json& content, const char* name) {
  const std::string path = around.path_of(name);
  ContentParts parts;
  if (content.is_string()) {
    parts.add(content.string(), false);
    return parts;
  }
  if (!content.is_array()) throw ApiError::bad_request(path + " must be a string or a list", path);
  for_each_item(content, path, [&](const Json& block, const std::string& at) {
    Fields fields = around.inside(block, at);
    const std::string type = fields.required_string("type");
    if (type != "text")
      fields.refuse("type", "is \"" + type + "\", but this model reads text alone");
    std::string text = fields.required_string("text");
    parts.add(std::move(text), is_marked(fields));
  });
  return parts;
}

// The blocks of one message, which become messages: results of tools one each, the others one.
class Blocks {
 public:
  explicit Blocks(std::string role) : role_(std::move(role)) {}

  void add_text(std::string text) { text_.add(std::move(text), false); }

  void read(Fields fields) {
    const std::string type = fields.required_string("type");
    if (type == "text")
      add_text(fields);
    else if (type == "tool_use")
      calls_.push(call_of(fields));
    else if (type == "tool_result")
      results_.push_back(result_of(fields));
    else if (type != "thinking" && type != "redacted_thinking")
      fields.refuse("type", "is \"" + type + "\", but this model reads text alone");
  }

  // Results answer calls of the message before, so they come first.
  void add_to(Json* messages) const {
    for (const Json& result : results_) messages->push(result);
    const bool has_calls = !calls_.items().empty();
    if (text_.empty() && !has_calls && !results_.empty()) return;
    Json message = Json::object().set("role", role_).set("content", text_.json());
    if (has_calls) message.set("tool_calls", calls_);
    messages->push(message);
  }

 private:
  void add_text(Fields& fields) {
    std::string text = fields.required_string("text");
    text_.add(std::move(text), is_marked(fields));
  }
  static Json call_of(Fields& fields) {
    const std::string id = fields.required_string("id");
    const Json function = Json::object()
                              .set("name", fields.required_string("name"))
                              .set("arguments", fields.object("input").value_or(Json::object()));
    return Json::object().set("id", id).set("type", "function").set("function", function);
  }
  static Json result_of(Fields& fields) {
    const auto content = fields.any("content");
    return Json::object()
        .set("role", "tool")
        .set("tool_call_id", fields.required_string("tool_use_id"))
        .set("content", content ? text_of(fields, *content, "content").json() : Json(""));
  }

  const std::string role_;
  ContentParts text_;
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
  if (const auto system = body.any("system"))
    messages.push(Json::object()
                      .set("role", "system")
                      .set("content", text_of(body, *system, "system").json()));
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
    fields.only("type", {"custom"}, "is a tool that runs elsewhere, which this server has not");
    Json function = Json::object().set("name", fields.required_string("name"));
    if (const auto description = fields.string("description"))
      function.set("description", *description);
    function.set("parameters", fields.object("input_schema").value_or(Json::object()));
    Json read = Json::object().set("type", "function").set("function", function);
    tools.push(is_marked(fields) ? read.set("marked", true) : read);
  });
  check_tool_names(tools);
  return tools;
}

}  // namespace pc::serve
