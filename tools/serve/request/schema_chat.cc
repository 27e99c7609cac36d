#include "tools/serve/request/schema_chat.h"

#include <string>
#include <utility>

namespace pc::serve {
namespace {

std::vector<promptcache::Argument> arguments_of(Fields& part) {
  std::vector<promptcache::Argument> arguments;
  const auto object = part.object("arguments");
  if (!object) return arguments;
  Fields values = part.inside(*object, part.path_of("arguments"));
  for (const std::string& name : object->keys())
    arguments.push_back({name, values.required_string(name.c_str())});
  return arguments;
}

promptcache::Part part_of(Fields fields) {
  const std::string type = fields.required_string("type");
  if (type == "text" || type == "input_text" || type == "output_text")
    return {fields.required_string("text"), {}, {}};
  if (type != "module")
    fields.refuse("type", "is \"" + type + "\"; beside a schema a part is \"text\" or \"module\"");
  std::string module = fields.required_string("module");
  if (module.empty()) fields.refuse("module", "must be the path of a module");
  return {{}, std::move(module), arguments_of(fields)};
}

promptcache::Message turn_of(Fields fields) {
  promptcache::Message turn;
  turn.role = fields.required_string("role");
  if (turn.role != "system" && turn.role != "user" && turn.role != "assistant")
    fields.refuse("role",
                  "must be one of: system, user, assistant; beside a schema there are "
                  "no others");
  for (const char* const name : {"tool_calls", "tool_call_id"})
    if (fields.any(name)) fields.refuse(name, "is nothing that a turn has beside a schema");
  const auto content = fields.any("content");
  if (!content || (!content->is_string() && !content->is_array()))
    fields.refuse("content", "must be a string or a list of parts");
  turn.content = content->string();
  const std::string path = fields.path_of("content");
  for_each_item(*content, path, [&](const Json& part, const std::string& at) {
    turn.parts.push_back(part_of(fields.inside(part, at)));
  });
  return turn;
}

}  // namespace

bool read_schema_chat(Fields& fields, Question* question) {
  const auto schema = fields.string("schema");
  if (!schema) return false;
  if (schema->empty()) fields.refuse("schema", "must be the name of a schema");
  for (const char* const name : {"tools", "tool_choice", "chat_template_kwargs"})
    if (fields.any(name)) fields.refuse(name, "cannot be used together with a schema");
  const auto messages = fields.array("messages");
  if (!messages || messages->items().empty()) fields.refuse("messages", "is missing: a list");
  SchemaPrompt prompt{*schema, {}, {}};
  for_each_item(*messages, "messages", [&](const Json& message, const std::string& path) {
    prompt.turns.push_back(turn_of(fields.inside(message, path)));
  });
  question->of_schema = std::move(prompt);
  read_repair(fields, question);
  return true;
}

void read_repair(Fields& fields, Question* question) {
  question->repair = fields.string("repair").value_or("");
}

}  // namespace pc::serve
