// A block's dynamic shared memory: 0xff at first, and guarded at its end.
//
// One for each OS thread that runs kernels.
#pragma once

#include <cstddef>
#include <vector>

namespace pc::cuda::standin {

class SharedMemory {
 public:
  ~SharedMemory();
  void resize(std::size_t bytes);
  void* data() { return data_; }
  void begin_block();
  // Whether the bytes behind it are as they were.
  bool end_block();

 private:
  std::vector<std::byte> room_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace pc::cuda::standin
