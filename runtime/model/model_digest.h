// What names a model's weights and its rotation in the keys of module files:
// modules that were encoded by other weights must never be found.
//
// The bytes are scanned once, in pieces of about 8 MiB, by as many threads as are
// asked for and to be had: SHA-256 of each piece, and a look at every element and scale.
// Their digest is a tree: over, in the order of names, each tensor's name, type,
// shape and pieces; how the tensors are spread over files does not count.
// The weights' digest joins it with everything else that the computation
// depends on, but for the rotation, which has a digest of its own.
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

// To be raised when the scan's digest or its checks change: remembered digests
// of other versions do not count.
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

// Over every field of desc and its layers that is not a rotation: numbers as
// they are, of tensors whether they are there, their type and shape.
Digest weights_digest(const pc_model_desc& desc, const Digest& tensors);

// Over all ropes.
Digest rope_digest(const pc_model_desc& desc);

}  // namespace pc
