#include "runtime/chat/own_chat_format.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/chat/turn_texts.h"

namespace pc {
namespace {

// Conversations whose strings are remembered: those of a schema's modules, and of
// the prompts of a chat that goes on. A rendering takes tens of microseconds.
constexpr std::size_t kMaxRemembered = 256;

class OwnFormat {
 public:
  OwnFormat(ChatProgram program, ChatClock clock) : program_(std::move(program)) {
    options_.clock = std::move(clock);
  }

  Result<pml::TurnTexts> turns(std::span<const pml::Role> roles) {
    const std::vector<pml::Role> key(roles.begin(), roles.end());
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = known_.find(key); known != known_.end()) return known->second;
    }
    Result<pml::TurnTexts> texts = turn_texts(program_, roles, options_);
    const std::lock_guard lock(mutex_);
    if (known_.size() >= kMaxRemembered) known_.clear();
    return known_.emplace(key, std::move(texts)).first->second;
  }

 private:
  const ChatProgram program_;
  ChatOptions options_;
  std::mutex mutex_;
  std::map<std::vector<pml::Role>, Result<pml::TurnTexts>> known_;  // guarded by mutex_
};

}  // namespace

pml::ChatFormat own_chat_format(ChatProgram program, ChatClock clock) {
  if (!clock.fixed) clock = ChatClock::now();
  const auto format = std::make_shared<OwnFormat>(std::move(program), std::move(clock));
  return {kOwnChatFormat,
          [format](std::span<const pml::Role> roles) { return format->turns(roles); }};
}

}  // namespace pc
