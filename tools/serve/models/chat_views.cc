#include "tools/serve/models/chat_views.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "tools/serve/request/api_error.h"

namespace pc::serve {
namespace {

// Without these: the library is given them apart.
std::string others(const Json& object, std::initializer_list<std::string_view> apart) {
  Json rest = Json::object();
  bool any = false;
  for (const std::string& key : object.keys()) {
    if (std::ranges::find(apart, key) != apart.end()) continue;
    rest.set(key, object[key]);
    any = true;
  }
  return any ? rest.dump() : "";
}

std::uint32_t flags_of(const Json& marked) {
  std::uint32_t flags = marked["module"].truth() ? PC_CHAT_MODULE : 0;
  if (marked["controls"].truth()) flags |= PC_CHAT_CONTROLS;
  return flags;
}

pc_chat_part part_of(const Json& text, std::uint32_t flags) {
  const std::string_view view = text.view();
  return {view.data(), view.size(), flags};
}

}  // namespace

ChatViews::ChatViews(const Json& chat) : chat_(chat) {
  for (const Json& message : chat_["messages"].items())
    add(message, "messages[" + std::to_string(messages_.size()) + "]");
  for (const Json& tool : chat_["tools"].items()) {
    const std::string& json = kept(others(tool, {"module"}));
    tools_.push_back({json.data(), json.size(), flags_of(tool)});
  }
  if (!chat_["variables"].is_null()) variables_ = chat_["variables"].dump();
}

const std::string& ChatViews::kept(std::string text) {
  return texts_.emplace_back(std::move(text));
}

void ChatViews::add(const Json& message, const std::string& path) {
  const std::string& role = kept(message["role"].string());
  const std::string& fields = kept(others(message, {"role", "content"}));
  pc_chat_message view{};
  view.role = role.c_str();
  view.fields = fields.empty() ? nullptr : fields.data();
  view.fields_bytes = fields.size();
  view.content = PC_CONTENT_ABSENT;
  if (message.has("content")) add_content(message["content"], path + ".content", &view);
  messages_.push_back(view);
}

void ChatViews::add_content(const Json& content, const std::string& path,
                            pc_chat_message* message) {
  message->content = PC_CONTENT_NULL;
  if (content.is_null()) return;
  std::vector<pc_chat_part>& parts = parts_.emplace_back();
  message->content = content.is_string() ? PC_CONTENT_TEXT : PC_CONTENT_PARTS;
  if (content.is_string()) {
    parts.push_back(part_of(content, 0));
  } else if (content.is_array()) {
    for (const Json& part : content.items()) parts.push_back(part_of(part["text"], flags_of(part)));
  } else {
    throw ApiError::bad_request(path + " must be a string, a list of parts, or null", path);
  }
  message->parts = parts.data();
  message->n_parts = parts.size();
}

promptcache::Chat ChatViews::write(const promptcache::Engine& engine, const std::string& repair,
                                   bool continues) const {
  promptcache::ChatOptions options;
  static constexpr pc_chat_tool kNone{};  // of a list that is there and empty
  if (chat_["tools"].is_array()) options.tools = tools_.empty() ? &kNone : tools_.data();
  options.n_tools = tools_.size();
  if (!variables_.empty()) options.variables = variables_.data();
  options.variables_bytes = variables_.size();
  options.repair = repair.empty() ? nullptr : repair.c_str();
  options.flags = continues ? PC_CHAT_CONTINUES : 0;
  return promptcache::Chat(engine, messages_, options);
}

}  // namespace pc::serve
