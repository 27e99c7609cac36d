// The digests that stand for a model's weights and for its rotation in the keys of
// module files, so that modules that were encoded by other weights are never found.
//
// The bytes are scanned once, in pieces of about 8 MiB, by as many threads as are
// asked for and available. The scan takes the SHA-256 of each piece, and looks whether
// every element and scale is finite. The digest of all tensors is a tree: in the order
// of names it covers each tensor's name, type, shape and pieces. How the tensors are
// spread over files does not count.
// The weights' digest joins it with everything else that the computation
// depends on, but for the rotation, which has a digest of its own.
//
// Pure. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"  // Digest
#include "base/progress.h"
#include "base/status.h"
#include "runtime/backend/backend.h"        // pc_model_desc
#include "runtime/checkpoint/checkpoint.h"  // TensorMap

namespace pc {

// Raise it when the scan's digest or its checks change. Digests that were remembered by
// another version do not count.
inline constexpr std::uint64_t kTensorScanVersion = 1;

struct TensorScan {
  Digest digest{};
  // Names of tensors with a NaN or an infinity among their elements or scales,
  // in order. Tensors of types that are not computed with are not looked at.
  std::vector<std::string> not_finite;
};

struct ScanOptions {
  std::uint32_t n_threads = 0;  // 0 = usable_threads()
  Progress progress = {};
};

// Errors: kOutOfMemory; kCancelled, where its progress asked it to stop.
Result<TensorScan> scan_tensors(const TensorMap& tensors, const ScanOptions& options = {});

// Covers `tensors`, and every field of desc and its layers that is not a rotation. Of a
// tensor there, it covers whether it exists, its type and its shape. folded: factors that some
// have in them and the checkpoint's do not (TensorBinder::folded).
Digest weights_digest(const pc_model_desc& desc, const Digest& tensors,
                      std::span<const float> folded = {});

// Covers all ropes.
Digest rope_digest(const pc_model_desc& desc);

}  // namespace pc
