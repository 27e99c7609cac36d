// Brings bytes that will be needed soon into memory, and into this process, in
// their order, on a thread of its own: what computes from the first of them does
// not wait for the last, and a cold file is read while others are still used.
//
// Its thread lives for one pass over the bytes and allocates nothing. Borrows them: they outlive
// the object, whose end is the thread's. Threads: one at a time.
#pragma once

#include <cstddef>
#include <span>
#include <thread>
#include <vector>

#include "runtime/backend/backend.h"
#include "runtime/packed/packed_weights.h"

namespace pc {

class ReadAhead {
 public:
  ReadAhead() = default;  // nothing to do

  // Does nothing where the bytes are in memory already; where they would fill more
  // than half of it, since the last would drive out the first; where no thread can be had.
  explicit ReadAhead(std::vector<std::span<const std::byte>> ranges);

 private:
  std::jthread thread_;
};

// What a token reads, in its order: each layer's matrices, packed where they are,
// then the output matrix.
std::vector<std::span<const std::byte>> weights_in_order(const pc_model_desc& desc,
                                                         const PackedWeights& packed);

}  // namespace pc
