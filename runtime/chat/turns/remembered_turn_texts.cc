#include "runtime/chat/turns/remembered_turn_texts.h"

#include <algorithm>
#include <utility>

namespace pc {
namespace {

std::size_t bytes_of(const Result<pml::TurnTexts>& answer) {
  if (!answer.ok()) return sizeof answer + answer.error().message.capacity();
  std::size_t n = sizeof answer + answer->answer.capacity();
  for (const pml::TurnText& turn : answer->turns)
    n += sizeof turn + turn.open.capacity() + turn.close.capacity();
  return n;
}

}  // namespace

RememberedTurnTexts::Conversations::iterator RememberedTurnTexts::find_known(
    std::span<const pml::Role> turns) {
  return std::find_if(known_.begin(), known_.end(), [&](const Known& known) {
    return std::equal(known.turns.begin(), known.turns.end(), turns.begin(), turns.end());
  });
}

RememberedTurnTexts::Answer RememberedTurnTexts::find(std::span<const pml::Role> turns) {
  const MutexLock lock(mutex_);
  const auto known = find_known(turns);
  if (known == known_.end()) return nullptr;
  known_.splice(known_.begin(), known_, known);
  return known->answer;
}

void RememberedTurnTexts::add(std::span<const pml::Role> turns, Answer answer) {
  const std::size_t n_bytes = sizeof(Known) + turns.size() + bytes_of(*answer);
  const MutexLock lock(mutex_);
  if (find_known(turns) != known_.end()) return;  // another thread was first, with the same
  known_.push_front({{turns.begin(), turns.end()}, std::move(answer), n_bytes});
  n_bytes_ += n_bytes;
  while (n_bytes_ > max_bytes_ || known_.size() > kMaxConversations) {
    n_bytes_ -= known_.back().n_bytes;
    known_.pop_back();
  }
}

std::size_t RememberedTurnTexts::n_bytes() const {
  const MutexLock lock(mutex_);
  return n_bytes_;
}

}  // namespace pc
