#include "tools/serve/models/thought_learning.h"

#include <algorithm>
#include <string_view>

#include "runtime/calls/shape/call_cursor.h"

namespace pc::serve {
namespace {

using calls::trimmed;
using cli::Json;

// Words that stand nowhere else in a template's text.
constexpr std::string_view kThought = "pqthought", kText = "pqtext";
// The fields of an answer in which templates look for thoughts.
constexpr std::string_view kKeys[] = {"reasoning_content", "thinking", "reasoning"};

Json message(const char* role, std::string_view content) {
  return Json::object().set("role", role).set("content", content);
}

Json asked(const Json& messages, bool asks) {
  return Json::object().set("messages", messages).set("add_generation_prompt", asks);
}

Json question() {
  return Json::array().push(message("user", "q"));
}

// The word in brackets that a text ends with: "<think>", "[THINK]"; "" where there is none.
std::string_view last_tag(std::string_view text) {
  const std::string_view ended = trimmed(text);
  if (ended.empty() || (ended.back() != '>' && ended.back() != ']')) return {};
  const std::size_t open = ended.rfind(ended.back() == '>' ? '<' : '[');
  return open == ended.npos ? std::string_view() : ended.substr(open);
}

// The words around the thought of an answer that stands in a field of its own.
std::optional<ThoughtShape> of_field(std::string_view key, const RenderConversation& render) {
  const Json answer = message("assistant", kText).set(key, kThought);
  const auto answered = render(asked(question().push(answer), false));
  const auto prompt = render(asked(question(), true));
  if (!answered || !prompt) return std::nullopt;
  const std::string_view text = *answered;
  const std::size_t thought = text.find(kThought), said = text.find(kText);
  if (thought == text.npos || said == text.npos || said < thought) return std::nullopt;
  ThoughtShape shape;
  shape.key = key;
  const std::size_t behind = thought + kThought.size();
  shape.close = trimmed(text.substr(behind, said - behind));
  if (text.starts_with(*prompt) && prompt->size() <= thought)
    shape.open = trimmed(text.substr(prompt->size(), thought - prompt->size()));
  if (shape.open.empty()) shape.open = last_tag(text.substr(0, thought));
  return shape.open.empty() || shape.close.empty() ? std::nullopt : std::optional(shape);
}

// Templates that take the thoughts of earlier answers out of their text know these words.
std::optional<ThoughtShape> of_text(const RenderConversation& render) {
  const ThoughtShape shape{"<think>", "</think>", std::string(kKeys[0])};
  const std::string content =
      shape.open + "\n" + std::string(kThought) + "\n" + shape.close + "\n\n" + std::string(kText);
  const auto text = render(
      asked(question().push(message("assistant", content)).push(message("user", "r")), true));
  const bool is_taken =
      text && text->find(kText) != text->npos && text->find(kThought) == text->npos;
  return is_taken ? std::optional(shape) : std::nullopt;
}

}  // namespace

std::optional<ThoughtShape> learn_thought_shape(const RenderConversation& render) {
  for (const std::string_view key : kKeys)
    if (auto shape = of_field(key, render)) return shape;
  return of_text(render);
}

bool opens_thought(const ThoughtShape& shape, const Json& variables,
                   const RenderConversation& render) {
  Json conversation = asked(question(), true);
  if (!variables.is_null()) conversation.set("variables", variables);
  const auto prompt = render(conversation);
  return prompt && trimmed(*prompt).ends_with(shape.open);
}

}  // namespace pc::serve
