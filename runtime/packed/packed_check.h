// Verifies the checksums of a file of packed weights while the file is in use: on a thread of its
// own, matrix by matrix in the order in which a token needs them, so that the first token after a
// start of the machine waits for the disk once, and not for a reading before the reading.
//
// Nobody computes with a matrix before it was found sound; one that is not is packed again, in
// memory. A file that was found whole is stamped so; one that is damaged is removed at the end, and
// the next process makes it anew.
// Owner of the file's descriptor; borrows its bytes and the model's. Threads: methods from any
// thread. A child of fork() has not the thread: it looks for itself, at the first matrix that the
// thread had not come to.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/hash.h"
#include "base/status.h"
#include "modules/store/cache_folder.h"
#include "runtime/backend/backend.h"  // pc_tensor
#include "runtime/packed/packed_file.h"

namespace pc {

class PackedCheck {
 public:
  // file: of on_disk, mapped by the caller, who keeps the mapping. key: of the file in `folder`.
  // tensors: what its matrices were packed of. Where no thread can be had, all is looked at before
  // it returns.
  PackedCheck(CacheFolder folder, const Digest& key, PackedFile file, OpenFile on_disk,
              std::vector<pc_tensor> tensors);
  ~PackedCheck();  // gives up what is left

  // The bytes that were written, of a matrix of the file: itself, or a copy that was packed again.
  // Waits until it has been looked at. nullptr: it is damaged, and there is no memory for a copy.
  const std::byte* sound(const std::byte* matrix);

 private:
  enum class Look : std::uint8_t { kNotYet, kSound, kPackedAgain, kLost };

  bool is_forked() const;
  void run(const std::stop_token& stop) noexcept;
  void run_forked() noexcept;
  Status sum(const std::stop_token& stop);
  void settle(Look found) noexcept;
  Look pack_again(std::uint32_t matrix) noexcept;
  void remove_damaged() const;

  const CacheFolder folder_;
  const Digest key_;
  const PackedFile file_;
  const OpenFile on_disk_;
  const std::vector<pc_tensor> tensors_;                // [matrices]
  std::vector<std::atomic<Look>> looks_;                // [matrices]
  std::vector<AlignedBuffer<std::byte>> packed_again_;  // [matrices] of those that are damaged
  std::atomic<bool> all_sound_ = false;
  const pid_t process_;  // whose thread_ is
  std::once_flag forked_;
  std::jthread thread_;  // of run(); declared last: it ends before what it uses
};

}  // namespace pc
