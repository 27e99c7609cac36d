#include "runtime/chat/turns/own_chat_format.h"

#include <utility>

#include "base/mutex.h"
#include "runtime/chat/turns/remembered_turn_texts.h"
#include "runtime/chat/turns/turn_texts.h"

namespace pc {
namespace {

class OwnFormat {
 public:
  OwnFormat(ChatProgram program, const std::tm& time) : time_(time), program_(std::move(program)) {
    options_.clock = ChatClock([time] { return time; });
  }

  const std::tm& time() const { return time_; }

  // The template runs outside of every lock: two threads may find the same.
  Result<pml::TurnTexts> turns(std::span<const pml::Role> roles) {
    RememberedTurnTexts::Answer texts = texts_.find(roles);
    if (!texts) {
      texts = std::make_shared<const Result<pml::TurnTexts>>(
          turn_texts(program_, roles, options_, &endings_));
      texts_.add(roles, texts);
    }
    return *texts;
  }

 private:
  const std::tm time_;
  const ChatProgram program_;
  ChatOptions options_;
  RememberedEndings endings_;
  RememberedTurnTexts texts_;
};

}  // namespace

struct OwnChatFormat::Days {
  const ChatProgram program;
  const ChatClock clock;
  const std::string name;
  Mutex mutex;
  std::shared_ptr<OwnFormat> latest PC_GUARDED_BY(mutex);

  std::shared_ptr<OwnFormat> today() {
    const std::tm time = clock.now();
    const MutexLock lock(mutex);
    if (!latest || !same_time(latest->time(), time))
      latest = std::make_shared<OwnFormat>(program, time);
    return latest;
  }
};

OwnChatFormat::OwnChatFormat(ChatProgram program, ChatClock clock, std::string name)
    : days_(new Days{std::move(program), std::move(clock), std::move(name), {}, {}}) {}

pml::ChatFormat OwnChatFormat::today() const {
  return {days_->name, [format = days_->today()](std::span<const pml::Role> roles) {
            return format->turns(roles);
          }};
}

pml::ChatFormat OwnChatFormat::running() const {
  return {days_->name,
          [days = days_](std::span<const pml::Role> roles) { return days->today()->turns(roles); }};
}

}  // namespace pc
