#include "runtime/chat/whole/chat_request.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/utf8.h"
#include "runtime/jinja/library/json.h"

namespace pc {
namespace {

using jinja::Kind;
using jinja::Value;

// Templates put a role between the words of a control token, so that no other word may be one.
constexpr std::array<std::string_view, 6> kRoles = {"system",    "developer", "user",
                                                    "assistant", "tool",      "function"};

Error bad(const std::string& path, std::string_view what) {
  return error(Code::kInvalidArgument, "the conversation's " + path + " " + std::string(what));
}

Result<bool> truth(const Value& object, const char* key, bool fallback, const std::string& path) {
  const Value* const value = object.dict().find(key);
  if (!value || value->is(Kind::kNone)) return fallback;
  if (!value->is(Kind::kBool)) return bad(path + key, "must be true or false");
  return value->integer != 0;
}

Result<ChatPart> read_part(const Value& json, const std::string& path) {
  if (!json.is(Kind::kDict)) return bad(path, "must be an object");
  const Value* const type = json.dict().find("type");
  const Value* const text = json.dict().find("text");
  if (!type || !type->is(Kind::kString) || type->text() != "text")
    return bad(path + ".type", "must be \"text\"");
  if (!text || !text->is(Kind::kString)) return bad(path + ".text", "must be a string");
  ChatPart part{text->text()};
  PC_TRY(part.is_module, truth(json, "module", false, path + "."));
  PC_TRY(part.has_controls, truth(json, "controls", false, path + "."));
  return part;
}

Status read_content(const Value& json, const std::string& path, ChatMessage* message) {
  message->content = ChatMessage::Content::kNull;
  if (json.is(Kind::kNone)) return ok();
  message->content = ChatMessage::Content::kText;
  if (json.is(Kind::kString)) {
    message->parts.push_back({json.text()});
    return ok();
  }
  if (!json.is(Kind::kList)) return bad(path, "must be a string, a list of parts, or null");
  message->in_parts = true;
  std::size_t i = 0;
  for (const Value& item : json.items()) {
    PC_TRY(ChatPart part, read_part(item, path + "[" + std::to_string(i++) + "]"));
    message->parts.push_back(std::move(part));
  }
  return ok();
}

Result<ChatMessage> read_message(const Value& json, const std::string& path) {
  if (!json.is(Kind::kDict)) return bad(path, "must be an object");
  ChatMessage message;
  for (const auto& [key, value] : json.dict().entries) {
    if (key.text() == "content")
      PC_CHECK_OK(read_content(value, path + ".content", &message));
    else
      message.fields.emplace_back(key, value);
    if (key.text() == "role" && value.is(Kind::kString)) message.role = value.text();
  }
  return message;
}

Result<ChatTool> read_tool(const Value& json, const std::string& path) {
  if (!json.is(Kind::kDict)) return bad(path, "must be an object");
  ChatTool tool;
  PC_TRY(tool.is_module, truth(json, "module", false, path + "."));
  ChatFields fields;
  for (const auto& entry : json.dict().entries)
    if (entry.first.text() != "module") fields.push_back(entry);
  PC_TRY(tool.value, jinja::make_dict(nullptr, std::move(fields)));
  return tool;
}

// What the template is given in any case, which no variable may replace.
bool is_given(std::string_view name) {
  constexpr std::array<std::string_view, 3> kGiven = {"messages", "tools", "add_generation_prompt"};
  return std::ranges::find(kGiven, name) != kGiven.end() || name.ends_with("_token");
}

Status read_variables(const Value& json, ChatRequest* chat) {
  if (json.is(Kind::kNone)) return ok();
  if (!json.is(Kind::kDict)) return bad("variables", "must be an object");
  for (const auto& [key, value] : json.dict().entries) chat->variables.emplace(key.text(), value);
  return ok();
}

template <class Item, class Read>
Status read_list(const Value& json, const std::string& name, Read read, std::vector<Item>* list) {
  if (json.is(Kind::kNone)) return ok();
  if (!json.is(Kind::kList)) return bad(name, "must be a list");
  for (const Value& item : json.items()) {
    PC_TRY(Item made, read(item, name + "[" + std::to_string(list->size()) + "]"));
    list->push_back(std::move(made));
  }
  return ok();
}

}  // namespace

std::string ChatMessage::text() const {
  std::string text;
  for (const ChatPart& part : parts) text += part.text;
  return text;
}

bool ChatMessage::has_controls() const {
  return std::ranges::any_of(parts, &ChatPart::has_controls);
}

bool ChatRequest::has_modules() const {
  const auto has = [](const ChatMessage& message) {
    return std::ranges::any_of(message.parts, &ChatPart::is_module);
  };
  return std::ranges::any_of(tools, &ChatTool::is_module) || std::ranges::any_of(messages, has);
}

Result<ChatRequest> read_chat(std::string_view json) {
  PC_TRY(const Value whole, jinja::value_from_json(json, "the conversation"));
  if (!whole.is(Kind::kDict))
    return error(Code::kInvalidArgument, "the conversation must be a JSON object");
  ChatRequest chat;
  for (const auto& [key, value] : whole.dict().entries) {
    const std::string& name = key.text();
    if (name == "messages")
      PC_CHECK_OK(read_list(value, name, read_message, &chat.messages));
    else if (name == "tools") {
      PC_CHECK_OK(read_list(value, name, read_tool, &chat.tools));
      chat.has_tool_list = value.is(Kind::kList);
    } else if (name == "variables")
      PC_CHECK_OK(read_variables(value, &chat));
    else if (name == "repair" && value.is(Kind::kString))
      chat.repair = value.text();
    else if (name != "add_generation_prompt" && name != "continue_final_message")
      return bad(name, "is no field of it");
  }
  PC_TRY(chat.continues_last, truth(whole, "continue_final_message", false, ""));
  PC_TRY(chat.opens_answer, truth(whole, "add_generation_prompt", !chat.continues_last, ""));
  PC_CHECK_OK(check_chat(chat));
  return chat;
}

Result<ChatFields> read_fields(std::string_view json, const std::string& path) {
  PC_TRY(const Value value, jinja::value_from_json(json, "the conversation's " + path));
  if (!value.is(Kind::kDict)) return bad(path, "must be an object");
  return value.dict().entries;
}

namespace {

// A text of JSON is UTF-8, and one that a program hands over may be anything.
Status check_utf8(const ChatMessage& message, const std::string& path) {
  for (std::size_t i = 0; i < message.parts.size(); ++i) {
    const std::string& text = message.parts[i].text;
    const std::size_t valid = utf8_valid_prefix(text);
    if (valid == text.size()) continue;
    const std::string part = message.in_parts ? "[" + std::to_string(i) + "].text" : "";
    return bad(path + ".content" + part, "is not valid UTF-8 at byte " + std::to_string(valid));
  }
  return ok();
}

}  // namespace

Status check_chat(const ChatRequest& chat) {
  if (chat.messages.empty()) return bad("messages", "must be a list of at least one");
  for (std::size_t i = 0; i < chat.messages.size(); ++i) {
    const std::string path = "messages[" + std::to_string(i) + "]";
    if (std::ranges::find(kRoles, chat.messages[i].role) == kRoles.end())
      return bad(path + ".role", "must be system, developer, user, assistant, tool or function");
    PC_CHECK_OK(check_utf8(chat.messages[i], path));
  }
  for (const auto& [name, value] : chat.variables)
    if (is_given(name))
      return bad("variables." + name, "is what the template is given in any case");
  if (chat.continues_last && (chat.opens_answer || chat.messages.back().role != "assistant"))
    return bad("continue_final_message",
               "needs a last message of the assistant's, and no add_generation_prompt");
  return ok();
}

}  // namespace pc
