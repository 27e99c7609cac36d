// What cp.async does: copies to shared memory that have not arrived until they are waited for.
//
// One for each of a kernel's threads.
#pragma once

#include <cstdint>
#include <vector>

namespace pc::cuda::standin {

class AsyncCopies {
 public:
  // 16 bytes, both addresses on 16 bytes. Until they arrive, `to` holds 0xff.
  void start(void* to, const void* from);
  void commit() { ++committed_; }
  // All groups but the latest `pending` of those committed have arrived.
  void wait(std::uint32_t pending);
  void forget();

 private:
  struct Copy {
    void* to;
    const void* from;
    std::uint32_t group;
  };
  std::vector<Copy> copies_;  // not arrived, in the order of their groups
  std::uint32_t committed_ = 0;
};

}  // namespace pc::cuda::standin
