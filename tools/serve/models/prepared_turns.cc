#include "tools/serve/models/prepared_turns.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace pc::serve {
namespace {

// In parts or as one text, it is the same.
std::string text_of(const Json& content) {
  if (!content.is_array()) return content.string();
  std::string text;
  for (const Json& part : content.items()) text += part["text"].string();
  return text;
}

// Of what was said up to the last answer; none where there is no answer.
std::optional<std::size_t> conversation_of(const Question& question) {
  if (question.chat.is_null()) return std::nullopt;
  const std::vector<Json> messages = question.chat["messages"].items();
  const auto last = std::find_if(messages.rbegin(), messages.rend(), [](const Json& message) {
    return message["role"] == Json("assistant");
  });
  if (last == messages.rend()) return std::nullopt;
  std::string said = question.name_space.value_or("");
  for (auto message = messages.begin(); message != last.base(); ++message) {
    said += '\n' + (*message)["role"].string() + '\n' + text_of((*message)["content"]);
    for (const Json& call : (*message)["tool_calls"].items())
      said += '\n' + call["function"]["name"].string();
  }
  return std::hash<std::string>()(said);
}

}  // namespace

void PreparedTurns::add(const Question& next, std::uint64_t n_tokens) {
  const auto conversation = conversation_of(next);
  if (!conversation) return;
  const MutexLock lock(mutex_);
  prepared_.push_back({*conversation, n_tokens});
  if (prepared_.size() > most_) prepared_.pop_front();
}

bool PreparedTurns::is_empty() {
  const MutexLock lock(mutex_);
  return prepared_.empty();
}

std::optional<std::uint64_t> PreparedTurns::take(const Question& question) {
  if (is_empty()) return std::nullopt;
  const auto conversation = conversation_of(question);
  if (!conversation) return std::nullopt;
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find(prepared_, *conversation, &Prepared::conversation);
  if (found == prepared_.end()) return std::nullopt;
  const std::uint64_t n_tokens = found->n_tokens;
  prepared_.erase(found);
  return n_tokens;
}

}  // namespace pc::serve
