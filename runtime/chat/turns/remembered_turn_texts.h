// What a chat format answered for conversations, remembered by their roles: a schema's modules
// ask for the same few, and so do the prompts of many users.
//
// Keeps to a number of conversations and of bytes: the one that was not asked for the longest
// goes first. Threads: any.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "pml/turns/text_encoder.h"

namespace pc {

class RememberedTurnTexts {
 public:
  using Answer = std::shared_ptr<const Result<pml::TurnTexts>>;

  // Looking through them takes less than one rendering.
  static constexpr std::size_t kMaxConversations = 256;
  // About 50 of a thousand turns.
  static constexpr std::size_t kMaxBytes = std::size_t{8} << 20;

  explicit RememberedTurnTexts(std::size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}
  RememberedTurnTexts(const RememberedTurnTexts&) = delete;
  RememberedTurnTexts& operator=(const RememberedTurnTexts&) = delete;

  Answer find(std::span<const pml::Role> turns);  // null: not known
  void add(std::span<const pml::Role> turns, Answer answer);

  std::size_t n_bytes() const;

 private:
  struct Known {
    std::vector<pml::Role> turns;
    Answer answer;
    std::size_t n_bytes;
  };
  using Conversations = std::list<Known>;

  Conversations::iterator find_known(std::span<const pml::Role> turns) PC_REQUIRES(mutex_);

  const std::size_t max_bytes_;
  mutable Mutex mutex_;
  Conversations known_ PC_GUARDED_BY(mutex_);  // asked for last in front
  std::size_t n_bytes_ PC_GUARDED_BY(mutex_) = 0;
};

}  // namespace pc
