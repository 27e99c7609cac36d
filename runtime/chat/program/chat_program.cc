#include "runtime/chat/program/chat_program.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "runtime/jinja/interpreter/interpreter.h"
#include "runtime/jinja/syntax/parser.h"

namespace pc {

struct ChatProgram::Code {
  jinja::Template parsed;
};

namespace {

Error of_template(Error failure) {
  if (failure.message.starts_with("line ")) failure.message.insert(0, "the chat template, ");
  return failure;
}

// A GGUF file may have any bytes for a token.
Status check_utf8(const ChatTokens& tokens) {
  const auto is_text = [](const auto& token) { return is_utf8(token.second); };
  if (is_utf8(tokens.bos) && is_utf8(tokens.eos) && std::ranges::all_of(tokens.others, is_text))
    return ok();
  return error(Code::kCorrupt, "a token that the chat template is given is not UTF-8");
}

}  // namespace

Result<ChatProgram> ChatProgram::parse(std::string_view text, ChatTokens tokens) {
  if (text.size() > kMaxTemplateBytes || !is_utf8(text))
    return error(pc::Code::kCorrupt, "the chat template is not UTF-8 text of at most 1 MiB");
  PC_CHECK_OK(check_utf8(tokens));
  auto parsed = jinja::parse_template(text);
  if (!parsed.ok()) return of_template(std::move(parsed).error());
  ChatProgram program;
  program.code_ = std::make_shared<const Code>(Code{std::move(parsed).value()});
  program.tokens_ = std::move(tokens);
  return program;
}

Result<std::string> ChatProgram::render(const jinja::Value& messages, const jinja::Value& tools,
                                        const ChatOptions& options) const {
  jinja::Variables variables(options.variables.begin(), options.variables.end());
  const auto put = [&variables](const std::string& name, jinja::Value value) {
    variables.try_emplace(name, std::move(value));
  };
  put("messages", messages);
  put("tools", tools);
  put("documents", jinja::none());
  put("add_generation_prompt", jinja::boolean(options.add_generation_prompt));
  const auto put_token = [&](const std::string& name, const std::string& token) {
    if (!token.empty()) put(name, jinja::word(token));
  };
  put_token("bos_token", tokens_.bos);
  put_token("eos_token", tokens_.eos);
  for (const auto& [name, token] : tokens_.others) put_token(name, token);
  const auto strftime_now = [&options](const std::string& form) {
    return options.clock.format(form);
  };
  jinja::Interpreter interpreter(code_->parsed, variables, options.limits, strftime_now);
  auto text = interpreter.render();
  if (!text.ok()) return of_template(std::move(text).error());
  return text;
}

}  // namespace pc
