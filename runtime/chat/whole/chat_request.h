// A conversation as chat protocols have it: messages, tools, and what the model's template is told
// besides. JSON:
//
//   {"messages": [{"role": "user", "content": "Hi"}, ...],
//    "tools": [{"type": "function", "function": {"name": ..., ...}}, ...],
//    "variables": {"enable_thinking": false},
//    "add_generation_prompt": true, "continue_final_message": false, "repair": "none"}
//
// "tools": [] is the empty list to the template, and no "tools", or null, is none.
// A content may be a list of parts, {"type": "text", "text": "..."}; a part or a tool with
// "module": true is to be a module; a part with "controls": true spells control tokens that are
// meant. Any other field of a message is the template's.
// Immutable value. Threads: any.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "runtime/jinja/values/value.h"

namespace pc {

struct ChatPart {
  std::string text;
  bool is_module = false;
  bool has_controls = false;  // control tokens that it spells are those, as in the template's text
};

using ChatFields = std::vector<std::pair<jinja::Value, jinja::Value>>;  // name, value

struct ChatMessage {
  std::string role;
  enum class Content { kAbsent, kNull, kText } content = Content::kAbsent;
  bool in_parts = false;        // its content was written as a list of parts
  std::vector<ChatPart> parts;  // of its content, one text
  ChatFields fields;            // the others, "role" included

  std::string text() const;
  bool has_controls() const;  // of its content, any part
};

struct ChatTool {
  jinja::Value value;
  bool is_module = false;
};

struct ChatRequest {
  std::vector<ChatMessage> messages;  // at least one
  std::vector<ChatTool> tools;
  bool has_tool_list = false;  // "tools" was given, be it as an empty list
  std::map<std::string, jinja::Value> variables;
  std::string repair = "none";  // of its modules (pml/syntax/repair.h), as it was written
  bool opens_answer = true;     // the assistant's turn is opened behind the last message
  bool continues_last = false;  // the text ends with the last message's, which is an answer's begin

  bool has_modules() const;
};

// Errors: kInvalidArgument, which names the field; kCorrupt: no JSON.
Result<ChatRequest> read_chat(std::string_view json);

// An object of JSON. Errors: the same; `path` is its field.
Result<ChatFields> read_fields(std::string_view json, const std::string& path);

// What a conversation may not be, whoever made it: kInvalidArgument, which names the field.
Status check_chat(const ChatRequest& chat);

}  // namespace pc
