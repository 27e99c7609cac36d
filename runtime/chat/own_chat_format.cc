#include "runtime/chat/own_chat_format.h"

#include <utility>

#include "runtime/chat/remembered_turn_texts.h"
#include "runtime/chat/turn_texts.h"

namespace pc {
namespace {

class OwnFormat {
 public:
  OwnFormat(ChatProgram program, ChatClock clock) : program_(std::move(program)) {
    options_.clock = std::move(clock);
  }

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
  const ChatProgram program_;
  ChatOptions options_;
  RememberedEndings endings_;
  RememberedTurnTexts texts_;
};

}  // namespace

pml::ChatFormat own_chat_format(ChatProgram program, ChatClock clock, std::string name) {
  if (!clock.fixed) clock = ChatClock::now();
  const auto format = std::make_shared<OwnFormat>(std::move(program), std::move(clock));
  return {std::move(name),
          [format](std::span<const pml::Role> roles) { return format->turns(roles); }};
}

}  // namespace pc
