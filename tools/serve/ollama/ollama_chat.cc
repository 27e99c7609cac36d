#include "tools/serve/ollama/ollama_chat.h"

#include <string>
#include <utility>

#include "tools/serve/ollama/ollama_options.h"
#include "tools/serve/raw/raw_fields.h"
#include "tools/serve/request/conversation_json.h"
#include "tools/serve/request/sampling_fields.h"

namespace pc::serve {
namespace {

constexpr const char* kBlind = "are pictures, and this model reads text alone";

// "json", a JSON schema, or "".
Format format_of(Fields& fields) {
  const auto format = fields.any("format");
  if (!format || *format == Json("")) return {};
  if (format->is_object()) return {Format::Kind::kSchema, *format, "format", false, {}};
  if (!(*format == Json("json"))) fields.refuse("format", "must be \"json\" or a JSON schema");
  return {Format::Kind::kJson, {}, "format", false, {}};
}

// Whether the model shall think, or how hard: what templates are told.
void read_think(Fields& fields, OllamaRequest* request) {
  const auto think = fields.any("think");
  if (!think) return;
  const std::string effort = think->string();
  const bool is_effort = effort == "low" || effort == "medium" || effort == "high";
  if (!think->is_boolean() && !is_effort)
    fields.refuse("think", "must be true, false, \"low\", \"medium\" or \"high\"");
  request->wants_thought = is_effort || think->truth();
  Json variables = Json::object().set("enable_thinking", request->wants_thought);
  if (is_effort) variables.set("reasoning_effort", effort);
  request->question.chat.set("variables", variables);
}

// A message in OpenAI's words: the names of some fields differ.
Json openai_message(const Json& message) {
  Json out = Json::object();
  for (const std::string& name : message.keys()) {
    const bool is_empty_list = message[name].is_array() && message[name].items().empty();
    if (name == "images" && (is_empty_list || message[name].is_null())) continue;
    out.set(name == "thinking"    ? "reasoning_content"
            : name == "tool_name" ? "name"
                                  : std::string_view(name),
            message[name]);
  }
  return out;
}

Json openai_messages(const Json& list) {
  Json messages = Json::array();
  for_each_item(list, "messages", [&](const Json& message, const std::string& path) {
    const Json read = openai_message(message);
    if (!read["images"].is_null())
      throw ApiError::bad_request(path + ".images " + kBlind, path + ".images");
    messages.push(read);
  });
  return messages;
}

// The body as OpenAI's would be: what both have in common is read by the same functions.
Json with_openai_messages(const Json& body) {
  if (!body["messages"].is_array()) return body;
  return Json(body).set("messages", openai_messages(body["messages"]));
}

void read_common(Fields& fields, const ModelFacts& model, OllamaRequest* request) {
  fields.string("model");  // who answers: Service
  read_ollama_options(fields, model, &request->question);
  request->streams = fields.boolean("stream").value_or(true);
  request->question.format = format_of(fields);
  fields.skip({"keep_alive"});  // models go by --model-memory
  read_mode(fields, &request->question);
}

Json said(const char* role, const std::string& text) {
  return Json::object().set("role", role).set("content", text);
}

void read_raw(Fields& fields, const ModelFacts& model, const std::string& prompt,
              Question* question) {
  const std::string suffix = fields.string("suffix").value_or("");
  if (suffix.empty())
    question->raw = {{{{prompt, {}, true}}}};
  else
    question->raw = {fim_prompt(fim_tokens(fields, model, "suffix"), prompt, suffix)};
}

}  // namespace

OllamaRequest read_ollama_chat(const Json& body, const ModelFacts& model) {
  Fields fields(with_openai_messages(body));
  OllamaRequest request;
  read_common(fields, model, &request);
  request.is_empty = fields.array("messages").value_or(Json::array()).items().empty();
  request.question.chat = Json::object();
  if (!request.is_empty) request.question.chat.set("messages", messages_of(fields));
  const Json tools = tools_of(fields);
  if (!tools.is_null()) request.question.chat.set("tools", tools);
  read_think(fields, &request);
  tell_unread(fields, &request.question);
  return request;
}

OllamaRequest read_ollama_generate(const Json& body, const ModelFacts& model) {
  Fields fields(body);
  OllamaRequest request;
  request.is_chat = false;
  read_common(fields, model, &request);
  const std::string prompt = fields.string("prompt").value_or("");
  const bool is_raw = fields.boolean("raw").value_or(false);
  const std::string system = fields.string("system").value_or("");
  const bool fills = !fields.string("suffix").value_or("").empty();
  request.is_empty = prompt.empty() && !fills;
  if (const auto images = fields.array("images"); images && !images->items().empty())
    fields.refuse("images", kBlind);
  fields.only("template", {""}, "is the model's own here: \"raw\" takes a prompt as it is");
  fields.only("context", {Json::array()},
              "is not taken: /api/chat goes on with a conversation by its messages");
  if (is_raw || fills) {
    if (!system.empty()) fields.leave_out("system", "is of turns, of which a raw prompt has none");
    read_raw(fields, model, prompt, &request.question);
  } else {
    Json messages = Json::array();
    if (!system.empty()) messages.push(said("system", system));
    request.question.chat = Json::object().set("messages", messages.push(said("user", prompt)));
    read_think(fields, &request);
  }
  tell_unread(fields, &request.question);
  return request;
}

}  // namespace pc::serve
