#include "tools/serve/request/conversation_json.h"

#include <set>
#include <utility>

namespace pc::serve {
namespace {

constexpr std::size_t kMaxDepth = 64;

Json content_of(Fields& message) {
  const auto content = message.any("content");
  if (!content) return Json();
  if (content->is_array()) return read_parts(message, *content, "content").json();
  if (content->is_string() && is_marked(message)) {
    ContentParts whole;
    whole.add(content->string(), true);
    return whole.json();
  }
  if (content->is_string()) return *content;
  message.refuse("content", "must be a string or a list of parts");
}

// {"id", "type", "function": {"name", "arguments"}} with arguments as an object.
Json call_of(Fields fields) {
  fields.only("type", {"function"}, "must be \"function\"");
  auto called = fields.nested("function");
  if (!called) fields.refuse("function", "is missing: an object");
  const Json arguments = arguments_of_call(*called);
  Json call = Json::object();
  if (const auto id = fields.string("id")) call.set("id", *id);
  return call.set("type", "function")
      .set("function",
           Json::object().set("name", called->required_string("name")).set("arguments", arguments));
}

// What templates know of OpenAI's newer role.
std::string role_of(Fields& message) {
  const std::string role = message.required_string("role");
  return role == "developer" ? "system" : role;
}

Json message_of(Fields fields) {
  Json message = Json::object();
  const std::string role = role_of(fields);
  message.set("role", role);
  const Json content = content_of(fields);
  Json calls = Json::array();
  if (const auto list = fields.array("tool_calls"))
    for_each_item(*list, fields.path_of("tool_calls"),
                  [&](const Json& call, const std::string& at) {
                    calls.push(call_of(fields.inside(call, at)));
                  });
  const bool has_calls = !calls.items().empty();
  if (content.is_null() && !has_calls) fields.refuse("content", "is missing: a string");
  message.set("content", content.is_null() ? Json("") : content);
  if (has_calls) message.set("tool_calls", calls);
  for (const char* const name : {"name", "tool_call_id", "reasoning_content"})
    if (const auto value = fields.string(name)) message.set(name, *value);
  for (const char* const name : {"audio", "function_call"})
    if (fields.any(name)) fields.refuse(name, "is nothing that this server reads");
  return message;
}

}  // namespace

ContentParts read_parts(const Fields& around, const Json& parts, const char* name) {
  ContentParts read;
  for_each_item(parts, around.path_of(name), [&](const Json& part, const std::string& at) {
    Fields fields = around.inside(part, at);
    const std::string type = fields.required_string("type");
    if (type != "text" && type != "input_text" && type != "output_text")
      fields.refuse("type", "is \"" + type + "\", but this model reads text alone");
    fields.skip({"annotations", "logprobs"});  // of the answer that it was
    std::string text = fields.required_string("text");
    read.add(std::move(text), is_marked(fields));
  });
  return read;
}

Json arguments_of_call(Fields& call) {
  const std::string text = call.string("arguments").value_or("");
  if (text.empty()) return Json::object();
  std::string why;
  const auto read = Json::read_strictly(text, kMaxDepth, &why);
  if (!read || !read->is_object())
    call.refuse("arguments", "must be a JSON object in a string" + (why.empty() ? "" : ": " + why));
  return *read;
}

Json messages_of(Fields& body) {
  const auto messages = body.array("messages");
  if (!messages || messages->items().empty()) body.refuse("messages", "is missing: a list");
  Json list = Json::array();
  for_each_item(*messages, "messages", [&](const Json& message, const std::string& path) {
    list.push(message_of(body.inside(message, path)));
  });
  return list;
}

Json tools_of(Fields& body) {
  const auto tools = body.array("tools");
  if (!tools || tools->items().empty()) return Json();
  Json list = Json::array();
  for_each_item(*tools, "tools", [&](const Json& tool, const std::string& path) {
    Fields fields = body.inside(tool, path);
    fields.only("type", {"function"}, "must be \"function\"");
    const auto function = fields.object("function");
    if (!function) fields.refuse("function", "is missing: an object");
    Fields described(*function, path + ".function");  // whole, for the template
    described.required_string("name");
    described.string("description");
    described.object("parameters");
    Json read = Json::object().set("type", "function").set("function", *function);
    list.push(is_marked(fields) ? read.set("marked", true) : read);
  });
  check_tool_names(list);
  return list;
}

void check_tool_names(const Json& tools) {
  std::set<std::string> names;
  for (const Json& tool : tools.items()) {
    const std::string name = tool["function"]["name"].string();
    if (!names.insert(name).second)
      throw ApiError::bad_request("two tools are called \"" + name + "\"", "tools");
  }
}

}  // namespace pc::serve
