// Elapsed time, for statistics. Threads: a value.
#pragma once

#include <chrono>
#include <cstdint>

namespace pc {

class Stopwatch {
 public:
  std::uint64_t microseconds() const {
    const auto elapsed = std::chrono::steady_clock::now() - start_;
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count());
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace pc
