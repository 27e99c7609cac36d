// A model's quantised matrices as the integer kernels read them: packed once
// into a file beside the store, mapped by every process from then on.
//
// A file that is missing, damaged, torn or another's is made anew where the
// place may be written, by one process at a time: the others wait a little. It
// is written matrix by matrix through small buffers, so that no second copy of
// the weights is ever in anonymous memory. As with modules, the payload is
// summed at the first use after each start of the machine, before that use or during it, then
// trusted while the file system says that the file is the same (modules/store/use_stamp.cc).
// Owner of the mapping; borrows nothing. Threads: const methods from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/mapped_file.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "base/status.h"
#include "modules/store/cache_folder.h"
#include "runtime/backend/backend.h"
#include "runtime/packed/packed_check.h"
#include "runtime/packed/packed_file.h"

namespace pc {

struct PackOptions {
  std::string cache_dir;  // must exist
  bool writable = false;  // else a file is used, and none is made
  Digest weights{};       // of every byte of the model's tensors
  // From then on the times of a new file say whether it changed, so that its first
  // use is the last one that sums it (modules/store/use_stamp.cc). Little beside the packing.
  std::chrono::milliseconds settle{120};
  // For another process that packs. A 1B model takes about a second: longer than
  // this, and computing from the weights as they are answers earlier.
  std::chrono::milliseconds patience{5000};
  // Verify the file while it is in use (runtime/packed/packed_check.h), and not before. The
  // tensors' bytes then outlive the PackedWeights.
  bool sums_later = false;
  Progress packing = {};  // of bytes that are written
  Progress summing = {};  // of bytes whose checksums are verified before the file is used
};

class PackedWeights {
 public:
  PackedWeights() = default;  // nothing is packed

  // By the first byte in the model; the packed bytes are the caller's.
  explicit PackedWeights(std::unordered_map<const void*, const std::byte*> matrices)
      : matrices_(std::move(matrices)) {}

  // Errors, with which the model computes from the weights as they are: kIo
  // (full disk, no permission, no locks), kNotFound and kCorrupt (nothing that could be
  // used, and nothing may be written), kBudget (another process is at it). One with
  // which it must not: kCancelled, where progress asked to stop; no file is left behind.
  static Result<PackedWeights> open(const pc_model_desc& desc, const PackOptions& options,
                                    const Parallel& parallel);

  // The packed form of the matrix whose first byte in the model is `w_data`
  // (simd/packed/packed.h); nullptr: it is not packed. Waits where that is still being looked at.
  const std::byte* find(const void* w_data) const {
    const std::byte* matrix = place_of(w_data);
    return matrix && check_ ? check_->sound(matrix) : matrix;
  }

  // Where it lies in the file, sound or not; does not wait. nullptr: it is not packed.
  const std::byte* place_of(const void* w_data) const {
    const auto it = matrices_.find(w_data);
    return it == matrices_.end() ? nullptr : it->second;
  }

  bool empty() const { return matrices_.empty(); }

  // Zeros stand in the place of bytes that could not be read (guard_mappings).
  bool is_lost() const { return file_.is_lost(); }

 private:
  MappedFile file_;
  UniqueFd lease_;  // its shared lock says "in use"
  std::unordered_map<const void*, const std::byte*> matrices_;
  std::unique_ptr<PackedCheck> check_;  // where it was not verified before, with the lease
};

// The matrices that are worth packing, in the order in which a token needs them:
// those of the products, of types that are packed.
std::vector<pc_tensor> packable_matrices(const pc_model_desc& desc);

// Their shapes, as the file names them.
std::vector<PackedMatrix> packed_shapes(const std::vector<pc_tensor>& tensors);

// Every byte of one file. Errors: kNotFound, kIo (not to be trusted), kUnsupported
// (another version), kCorrupt, kMismatch.
Status verify_packed(const CacheFolder& folder, const Digest& key, const Parallel& parallel);

// Writes the file of these matrices, `extent` of its shapes, to a descriptor.
// 0 or an errno: ECANCELED where progress asked to stop.
int write_packed(int fd, const std::vector<pc_tensor>& tensors, const PackedExtent& extent,
                 const Digest& weights, const Parallel& parallel, const Progress& progress = {});

}  // namespace pc
