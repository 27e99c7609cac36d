// How far the tokenising of a text has come, told to whoever waits for it, who may stop it.
//
// Borrows the Progress. Threads: thread-compatible; it is called on the thread that tokenises.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/progress.h"
#include "base/status.h"

namespace pc {

class TextWatch {
 public:
  // A step of the merges of one word, or a byte that is looked at: tens of nanoseconds. So the
  // Progress is called every few milliseconds, and never for a short text.
  static constexpr std::uint64_t kStepsPerCall = 64 << 10;

  // total: bytes of the text.
  TextWatch(const Progress& progress, std::uint64_t total) : progress_(progress), total_(total) {}

  // So many bytes are done. False once the Progress has asked to stop, here and below.
  bool done(std::uint64_t bytes) {
    done_ = std::min(total_, done_ + bytes);  // a normaliser makes texts longer
    return steps(bytes);
  }
  // So many steps were taken on bytes that are not done.
  bool steps(std::uint64_t n) {
    steps_ += n;
    if (steps_ < kStepsPerCall) return true;
    steps_ = 0;
    return !progress_ || progress_(done_, total_);
  }

  // kCancelled: what whoever was told to stop returns.
  Status stopped() const {
    return error(Code::kCancelled, "tokenising was cancelled after " + std::to_string(done_) +
                                       " of " + std::to_string(total_) + " bytes");
  }

 private:
  const Progress& progress_;
  std::uint64_t total_, done_ = 0, steps_ = 0;
};

}  // namespace pc
