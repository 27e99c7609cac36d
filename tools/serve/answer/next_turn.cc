#include "tools/serve/answer/next_turn.h"

#include <string>
#include <vector>

namespace pc::serve {
namespace {

// Stands for what nobody knows yet: departs from it with its first token, most likely.
constexpr const char* kSomething = "?";

Json told(const GatheredAnswer& answer) {
  Json message = Json::object().set("role", "assistant").set("content", answer.text());
  Json calls = Json::array();
  const std::vector<MadeCall> made = answer.calls();
  for (const MadeCall& call : made)
    calls.push(
        Json::object()
            .set("id", call.id)
            .set("type", "function")
            .set("function", Json::object().set("name", call.name).set("arguments", call.input())));
  if (!made.empty()) message.set("tool_calls", calls);
  return message;
}

}  // namespace

std::optional<Question> next_turn(const Question& question, const GatheredAnswer& answer) {
  if (question.chat.is_null() || question.of_schema || question.n != 1) return std::nullopt;
  if (question.mode == Mode::kOff || answer.finish.cuts_call) return std::nullopt;
  const std::vector<Json> before = question.chat["messages"].items();
  if (before.empty() || before.back()["role"] == Json("assistant")) return std::nullopt;
  const std::vector<MadeCall> calls = answer.calls();
  if (answer.text().empty() && calls.empty()) return std::nullopt;
  Json messages = Json::array();
  for (const Json& message : before) messages.push(message);
  messages.push(told(answer));
  for (const MadeCall& call : calls)
    messages.push(Json::object()
                      .set("role", "tool")
                      .set("tool_call_id", call.id)
                      .set("name", call.name)
                      .set("content", kSomething));
  if (calls.empty()) messages.push(Json::object().set("role", "user").set("content", kSomething));
  Question next = question;
  next.chat.set("messages", messages);
  next.notes = nullptr;
  return next;
}

}  // namespace pc::serve
