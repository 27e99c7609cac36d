// Takes the tensors that a family asks for out of a checkpoint, and finds
// what is missing, misshapen, of a type that is not computed with, or left over.
//
// Borrows the checkpoint; the pc_tensor views it hands out live as long as the
// checkpoint's mappings. Threads: thread-compatible.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "runtime/backend.h"      // pc_tensor
#include "runtime/safetensors.h"  // Checkpoint

namespace pc {

class TensorBinder {
 public:
  // `folder` is for messages.
  TensorBinder(const Checkpoint& checkpoint, std::string folder)
      : checkpoint_(checkpoint), folder_(std::move(folder)) {}

  // Errors: kMismatch (missing, wrong shape), kUnsupported (type, alignment).
  Result<pc_tensor> matrix(const std::string& name, std::uint32_t rows, std::uint32_t cols);
  Result<pc_tensor> vector(const std::string& name, std::uint32_t n);

  // For tied weights, which some files store twice: a copy of `original` under
  // `name` is passed over; anything else under that name is an error.
  Status skip_copy(const std::string& name, const std::string& original);

  // After the last request: kMismatch when the checkpoint holds more than was
  // asked for, beyond buffers that can be computed from the configuration.
  Status check_nothing_left(std::string_view architecture) const;

  // What was taken, by name: the weights that count.
  TensorMap taken() const;

 private:
  Result<pc_tensor> take(const std::string& name, std::span<const std::uint64_t> shape,
                         std::uint32_t rows, std::uint32_t cols);

  const Checkpoint& checkpoint_;
  std::string folder_;
  std::set<std::string, std::less<>> taken_;
  std::set<std::string, std::less<>> skipped_;
};

}  // namespace pc
