// The digest of a checkpoint's tensors, without reading them at every start.
//
// It is computed once, which also checks that every element is finite, and
// remembered in <cache dir>/models/<64 hex>, one record for a set of files:
//
//   promptcache tensors <version of the scan>
//   files <64 hex>     SHA-256 of the identities of all files; the record's name
//   digest <64 hex>
//   seal <64 hex>      SHA-256 of the lines above
//
// A record counts while every file still is, by its open descriptor, what it was
// (device, inode, size, times of the last changes of bytes and of status): a file
// that was touched, replaced or rewritten has no record. None is written for
// files that changed within `settle_ns` before they were read, because a second
// change could then show the same times, nor for files that changed meanwhile.
// What is torn, or not exactly as the writer would write it, or of another user,
// or writable by others, is no record. Records that nobody used for 30 days go
// when the next one is written. Nothing here is an error: whatever is in the way,
// the digest is computed.
//
// A tenant of the file cache (modules/store/cache_folder.h). Threads and processes: any.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/hash.h"  // Digest
#include "base/mapped_file.h"
#include "base/status.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/model/model_digest.h"  // ScanOptions

namespace pc {

struct DigestMemory {
  std::string cache_dir;                   // made where missing and writable; "" = none
  bool writable = false;                   // else records are read only
  std::int64_t settle_ns = 2'000'000'000;  // the coarsest clock of a file system
};

// The remembered digest of these files, without reading them; nothing where there is none.
std::optional<Digest> recall_digest(std::span<const MappedFile> files, const DigestMemory& memory);

// Recalled, or computed and remembered. Errors: kCorrupt, with the tensor's name,
// where an element or a scale is NaN or infinite; those of the scan.
Result<Digest> tensor_digest(const Checkpoint& checkpoint, const DigestMemory& memory,
                             const ScanOptions& options = {});

// The message of that error: it names a tensor, and says how many more there are.
std::string not_finite_sentence(const std::string& name, const TensorView& view,
                                std::size_t n_more = 0);

}  // namespace pc
