// A model's chat template, parsed once: what turns a conversation into the text
// that the model was trained on. It is a program (Jinja) that came with the
// model's files; it is run with limits and reaches nothing outside of it.
//
// A ChatProgram is immutable, owns its tree, and serves any number of renderings
// at once. Its language is that of transformers: Jinja 3.1's immutable sandbox
// with trim_blocks and lstrip_blocks, loop controls, {% generation %},
// raise_exception, strftime_now and tojson; integers have 64 bits.
// Threads: const from any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "runtime/chat/program/chat_clock.h"
#include "runtime/jinja/values/value.h"

namespace pc {

// The names that the text of a template may spell for control tokens.
struct ChatTokens {
  std::string bos = {}, eos = {};  // "": the model has none, and the variable is undefined
  std::map<std::string, std::string> others = {};  // "pad_token": "<pad>"
};

struct ChatOptions {
  bool add_generation_prompt = false;
  ChatClock clock = {};
  std::map<std::string, jinja::Value> variables = {};  // "enable_thinking": false, ...
  jinja::Limits limits = {};
};

class ChatProgram {
 public:
  static constexpr std::size_t kMaxTemplateBytes = std::size_t{1} << 20;

  // Errors: kCorrupt (no template: the line and what is wrong with it), kUnsupported
  // (over a limit, or a statement that needs other files).
  static Result<ChatProgram> parse(std::string_view text, ChatTokens tokens);

  // `messages`: a list of {"role", "content", ...}; `tools`, `documents`: a list, or
  // none. Errors: kInvalidArgument (the template refuses, in its own words behind
  // "the chat template refuses the conversation: ", or its code fails: with the
  // line), kUnsupported (over a limit).
  Result<std::string> render(const jinja::Value& messages, const jinja::Value& tools,
                             const ChatOptions& options) const;

  const ChatTokens& tokens() const { return tokens_; }

 private:
  struct Code;
  std::shared_ptr<const Code> code_;
  ChatTokens tokens_;
};

}  // namespace pc
