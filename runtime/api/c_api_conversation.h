// Conversations of the C API as the engine has them.
//
// Internal to runtime/api/c_api*.cc. Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"
#include "promptcache/promptcache.h"
#include "runtime/api/c_api_support.h"
#include "runtime/prompt/written_chat.h"  // ChatRequest

namespace pc::capi {

inline Status check_flags(std::uint32_t flags, std::uint32_t known, const std::string& path) {
  if ((flags & ~known) == 0) return ok();
  return error(
      Code::kUnsupported,
      "the conversation's " + path + " has a flag that this version of the library does not know");
}

inline Status read_content(const pc_chat_message& given, const std::string& path,
                           ChatMessage* message) {
  if (given.content > PC_CONTENT_ABSENT)
    return error(Code::kUnsupported, "the conversation's " + path +
                                         ".content is of a kind that this version of the library "
                                         "does not know");
  const bool has_text = given.content == PC_CONTENT_TEXT || given.content == PC_CONTENT_PARTS;
  if (!has_text && given.n_parts != 0)
    return error(Code::kInvalidArgument,
                 "the conversation's " + path + " has parts, and a content that is no text");
  using Content = ChatMessage::Content;
  message->content = has_text                             ? Content::kText
                     : given.content == PC_CONTENT_ABSENT ? Content::kAbsent
                                                          : Content::kNull;
  message->in_parts = given.content == PC_CONTENT_PARTS;
  PC_REQUIRE(given.parts || given.n_parts == 0);
  for (const pc_chat_part& part : std::span(given.parts, given.n_parts)) {
    PC_REQUIRE(part.text);
    PC_CHECK_OK(check_flags(part.flags, PC_CHAT_MODULE | PC_CHAT_CONTROLS, path + ".content"));
    message->parts.push_back({std::string(field_of(part.text, part.bytes)),
                              (part.flags & PC_CHAT_MODULE) != 0,
                              (part.flags & PC_CHAT_CONTROLS) != 0});
  }
  return ok();
}

inline Result<ChatMessage> read_message(const pc_chat_message& given, const std::string& path) {
  PC_REQUIRE(given.role);
  ChatMessage message;
  message.role = given.role;
  PC_TRY(jinja::Value role, jinja::make_string(nullptr, message.role));
  message.fields.emplace_back(jinja::word("role"), std::move(role));
  PC_CHECK_OK(read_content(given, path, &message));
  if (!given.fields) return message;
  PC_TRY(ChatFields fields, read_fields(field_of(given.fields, given.fields_bytes), path));
  for (auto& [name, value] : fields) {
    if (name.text() == "role" || name.text() == "content")
      return error(Code::kInvalidArgument,
                   "the conversation's " + path + " has " + name.text() + " among its fields");
    message.fields.emplace_back(std::move(name), std::move(value));
  }
  return message;
}

inline Result<ChatTool> read_tool(const pc_chat_tool& given, const std::string& path) {
  PC_REQUIRE(given.json);
  PC_CHECK_OK(check_flags(given.flags, PC_CHAT_MODULE, path));
  PC_TRY(ChatFields fields, read_fields(field_of(given.json, given.bytes), path));
  ChatTool tool;
  tool.is_module = (given.flags & PC_CHAT_MODULE) != 0;
  PC_TRY(tool.value, jinja::make_dict(nullptr, std::move(fields)));
  return tool;
}

inline Status read_chat_options(const pc_chat_options& options, ChatRequest* chat) {
  PC_CHECK_OK(check_flags(options.flags, PC_CHAT_CONTINUES | PC_CHAT_ENDS, "options"));
  chat->has_tool_list = options.tools != nullptr;
  PC_REQUIRE(options.tools || options.n_tools == 0);
  for (const pc_chat_tool& given : std::span(options.tools, options.n_tools)) {
    PC_TRY(ChatTool tool, read_tool(given, "tools[" + std::to_string(chat->tools.size()) + "]"));
    chat->tools.push_back(std::move(tool));
  }
  if (options.variables) {
    PC_TRY(ChatFields fields,
           read_fields(field_of(options.variables, options.variables_bytes), "variables"));
    for (auto& [name, value] : fields) chat->variables.emplace(name.text(), std::move(value));
  }
  if (options.repair) chat->repair = options.repair;
  chat->continues_last = (options.flags & PC_CHAT_CONTINUES) != 0;
  chat->opens_answer = (options.flags & (PC_CHAT_CONTINUES | PC_CHAT_ENDS)) == 0;
  return ok();
}

inline Result<ChatRequest> read_conversation(const pc_chat_message* messages, std::size_t n,
                                             const pc_chat_options& options) {
  ChatRequest chat;
  for (const pc_chat_message& given : std::span(messages, n)) {
    PC_TRY(ChatMessage message,
           read_message(given, "messages[" + std::to_string(chat.messages.size()) + "]"));
    chat.messages.push_back(std::move(message));
  }
  PC_CHECK_OK(read_chat_options(options, &chat));
  PC_CHECK_OK(check_chat(chat));
  return chat;
}

}  // namespace pc::capi
