// Encodes modules of prompts while nobody waits for an answer.
//
// Owner of one thread, which gives way as soon as somebody does, and goes on later; prompts beyond
// kMost are dropped, the oldest first: they will come again. Threads: any.
#pragma once

#include <deque>
#include <functional>
#include <promptcache/promptcache.hpp>
#include <thread>

#include "base/mutex.h"

namespace pc::serve {

class IdleEncoder {
 public:
  static constexpr std::size_t kMost = 64;

  // is_idle: does nobody wait? Called on the thread, at least while there is something to encode.
  explicit IdleEncoder(std::function<bool()> is_idle);
  ~IdleEncoder();

  void add(promptcache::Prompt prompt);
  // Prompts that wait, or are being encoded.
  std::size_t n_waiting() const;

 private:
  void work();
  bool encode(const promptcache::Prompt& prompt);

  const std::function<bool()> is_idle_;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<promptcache::Prompt> waiting_ PC_GUARDED_BY(mutex_);
  bool is_encoding_ PC_GUARDED_BY(mutex_) = false;
  bool ends_ PC_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace pc::serve
