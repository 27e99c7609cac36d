// Brings bytes that will be needed soon into memory, and into this process, on a thread of its own:
// what computes with the first layers does not wait for the last, and a cold file is read while
// others are still used. What comes first is what the earliest layer needs: a module that is
// attached while weights are read is read between them, each layer's states with that layer's
// matrices.
//
// The thread lives until all is read. Borrows the bytes until they are read, or forgotten; its end
// is the thread's. Threads: any. A child of fork() has not the thread: there every byte comes when
// it is touched.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "runtime/backend/backend.h"
#include "runtime/packed/packed_weights.h"

namespace pc {

class ReadAhead {
 public:
  // [n_layers + 1] what each layer reads, in its order, and what comes behind the layers.
  using ByLayer = std::vector<std::vector<std::span<const std::byte>>>;

  ReadAhead();
  ~ReadAhead();

  // Does nothing where the bytes are in memory already; where they would fill more than half of it,
  // since the last would drive out the first; where no thread can be had.
  void add(const ByLayer& needed);

  // When it returns, nothing within these bytes is read ahead any more.
  void forget(std::span<const std::byte> bytes);

 private:
  // Bytes that are still to be read; of one whose beginning was read, the kernel was asked for
  // more.
  struct Range {
    std::span<const std::byte> left;
    bool is_begun = false;
  };

  bool is_forked() const;
  void run(const std::stop_token& stop);
  bool read_piece();
  // What is read next, and what the kernel is asked for before; empty: nothing is left.
  struct Piece {
    std::span<const std::byte> bytes, asked;
  };
  Piece take();

  const pid_t process_;  // whose thread_ is
  std::mutex mutex_;     // of all below
  std::condition_variable was_read_;
  std::span<const std::byte> reading_;
  std::vector<std::vector<Range>> layers_;
  bool runs_ = false;    // thread_ will look at layers_ again
  std::jthread thread_;  // declared last: it ends before what it uses
};

// What a token reads: each layer's matrices, packed where they are, then the output matrix.
ReadAhead::ByLayer weights_by_layer(const pc_model_desc& desc, const PackedWeights& packed);

}  // namespace pc
