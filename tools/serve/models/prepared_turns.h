// Which next turns were prepared (preparation.h), until the request comes that they were for: so
// that what became of them is counted.
//
// A conversation is known by what was said in it up to its last answer, in its namespace; a client
// that gives an answer back otherwise is not found, although the store may have what it needs.
// Remembers hashes; of too many, the latest. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/mutex.h"
#include "tools/serve/request/question.h"

namespace pc::serve {

class PreparedTurns {
 public:
  static constexpr std::size_t kMost = 1024;

  explicit PreparedTurns(std::size_t most = kMost) : most_(most) {}

  // next: as preparation() was given it.
  void add(const Question& next, std::uint64_t n_tokens);

  // The tokens that were prepared for this question; each is asked for once.
  std::optional<std::uint64_t> take(const Question& question);

 private:
  bool is_empty();
  struct Prepared {
    std::size_t conversation;  // a hash
    std::uint64_t n_tokens;
  };
  const std::size_t most_;
  Mutex mutex_;
  std::deque<Prepared> prepared_ PC_GUARDED_BY(mutex_);  // the latest last
};

}  // namespace pc::serve
