#include "tools/serve/request/conversation_json.h"

#include <set>
#include <utility>

#include "tools/serve/request/provider_text.h"

namespace pc::serve {
namespace {

constexpr std::size_t kMaxDepth = 64;

Json content_of(Fields& message, bool is_system) {
  auto content = message.any("content");
  if (!content) return Json();
  if (content->is_array()) return read_parts(message, *content, "content", is_system).json();
  if (content->is_string() && is_system)
    content = for_model(content->string(), message.path_of("content"), &message);
  if (content->is_string() && is_marked(message)) {
    ContentParts whole;
    whole.add(content->string(), true);
    return whole.json();
  }
  if (content->is_string()) return *content;
  message.refuse("content", "must be a string or a list of parts");
}

Json called_function(Fields& called) {
  const Json arguments = arguments_of_call(called);
  return Json::object().set("name", called.required_string("name")).set("arguments", arguments);
}

// A call of a tool that took a text.
Json custom_call_of(Fields& fields) {
  auto custom = fields.nested("custom");
  if (!custom) fields.refuse("custom", "is missing: an object");
  const Json input = Json::object().set("input", custom->required_string("input"));
  Json call = Json::object();
  if (const auto id = fields.string("id")) call.set("id", *id);
  return call.set("type", "function")
      .set("function",
           Json::object().set("name", custom->required_string("name")).set("arguments", input));
}

// {"id", "type", "function": {"name", "arguments"}} with arguments as an object.
Json call_of(Fields fields) {
  if (fields.any("type") == Json("custom")) return custom_call_of(fields);
  fields.only("type", {"function"}, "must be \"function\" or \"custom\"");
  auto called = fields.nested("function");
  if (!called) fields.refuse("function", "is missing: an object");
  Json call = Json::object();
  if (const auto id = fields.string("id")) call.set("id", *id);
  fields.skip({"index"});  // of a stream, which clients put together
  return call.set("type", "function").set("function", called_function(*called));
}

// What templates know of OpenAI's newer role, and of its oldest. A role that a template does not
// know would be lost in it without a word.
std::string role_of(Fields& message) {
  const std::string role = message.required_string("role");
  if (role == "developer") return "system";
  if (role == "function") return "tool";
  if (role != "system" && role != "user" && role != "assistant" && role != "tool")
    message.refuse("role",
                   "is \"" + role +
                       "\"; it must be one of: system, developer, user, assistant, tool, function");
  return role;
}

// Those of tool_calls, or the one of function_call, which was before them.
Json calls_of(Fields& message) {
  Json calls = Json::array();
  if (const auto list = message.array("tool_calls"))
    for_each_item(*list, message.path_of("tool_calls"),
                  [&](const Json& call, const std::string& at) {
                    calls.push(call_of(message.inside(call, at)));
                  });
  if (auto called = message.nested("function_call"))
    calls.push(Json::object().set("type", "function").set("function", called_function(*called)));
  return calls;
}

// An answer's content may be null, and what it refused stands beside it; a tool may say nothing.
Json content_by_role(Fields& message, const std::string& role, bool has_calls) {
  const Json content = content_of(message, role == "system");
  const std::string refusal = message.string("refusal").value_or("");
  const bool may_be_null = role == "assistant" || role == "tool" || has_calls;
  if (content.is_null() && !may_be_null) message.refuse("content", "is missing: a string");
  if (refusal.empty()) return content.is_null() ? Json("") : content;
  if (content.is_null() || content == Json("")) return refusal;
  message.leave_out(message.path_of("refusal"), "stands beside a content, which is read instead");
  return content;
}

Json message_of(Fields fields) {
  const std::string role = role_of(fields);
  const Json calls = calls_of(fields);
  const bool has_calls = !calls.items().empty();
  Json message =
      Json::object().set("role", role).set("content", content_by_role(fields, role, has_calls));
  if (has_calls) message.set("tool_calls", calls);
  for (const char* const name : {"name", "tool_call_id", "reasoning_content"})
    if (const auto value = fields.string(name)) message.set(name, *value);
  fields.skip({"annotations"});
  if (fields.any("audio"))
    fields.leave_out(fields.path_of("audio"), "is sound, which this model does not hear");
  return message;
}

std::string text_in(Fields& part, const std::string& type) {
  if (type == "refusal") return part.required_string("refusal");
  if (type == "text" || type == "input_text" || type == "output_text")
    return part.required_string("text");
  part.refuse("type", "is \"" + type + "\", but this model reads text alone");
}

}  // namespace

ContentParts read_parts(Fields& around, const Json& parts, const char* name, bool is_system) {
  ContentParts read;
  for_each_item(parts, around.path_of(name), [&](const Json& part, const std::string& at) {
    Fields fields = around.inside(part, at);
    fields.skip({"annotations", "logprobs"});  // of the answer that it was
    const std::string type = fields.required_string("type");
    std::string text = text_in(fields, type);
    if (is_system) text = for_model(std::move(text), at, &around);
    read.add(std::move(text), is_marked(fields));
  });
  return read;
}

Json arguments_of_call(Fields& call, const char* name) {
  const auto given = call.any(name);
  if (!given || *given == Json("")) return Json::object();
  if (given->is_object()) return *given;
  const std::string text = given->is_string() ? given->string() : given->dump();
  std::string why;
  const auto read = Json::read_strictly(text, kMaxDepth, &why, Json::Twice::kLastCounts);
  if (read && read->is_object()) return *read;
  call.remark(call.path_of(name) + " is no JSON object" + (why.empty() ? "" : " (" + why + ")") +
              "; the model sees {\"input\": it, as a text}");
  return Json::object().set("input", text);
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
    const std::string type = fields.string("type").value_or("function");
    if (type != "function") return leave_out_tool(fields, type);
    const auto function = fields.object("function");
    if (!function) fields.refuse("function", "is missing: an object");
    Fields described = fields.inside(*function, path + ".function");
    for (const std::string& key : function->keys()) described.any(key.c_str());  // the template's
    described.boolean("strict");
    described.required_string("name");
    described.string("description");
    described.object("parameters");
    Json read = Json::object().set("type", "function").set("function", *function);
    list.push(is_marked(fields) ? read.set("marked", true) : read);
  });
  check_tool_names(list);
  return list.items().empty() ? Json() : list;
}

void leave_out_tool(Fields& tool, const std::string& type) {
  tool.leave_out("is of type \"" + type +
                 "\": this server offers functions to the model, and left it out");
}

Json no_parameters() {
  return Json::object().set("type", "object").set("properties", Json::object());
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
