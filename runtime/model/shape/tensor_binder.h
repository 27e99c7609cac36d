// Takes the tensors that a family asks for out of a checkpoint, and finds
// what is missing, misshapen, of a type that is not computed with, or left over.
//
// Borrows the checkpoint; the pc_tensor views it hands out live as long as the
// checkpoint's mappings, and those of copies as long as what release_copies() gives. Threads:
// thread-compatible.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "runtime/backend/backend.h"  // pc_tensor
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/model/shape/rearranged.h"  // RowOrder

namespace pc {

class TensorBinder {
 public:
  // `folder` is for messages.
  TensorBinder(const TensorMap& tensors, std::string folder)
      : tensors_(tensors), folder_(std::move(folder)) {}

  // From now on a name that begins with `prefix` is also found with `other` in its place.
  void also_as(std::string_view prefix, std::string_view other) {
    other_prefixes_.emplace_back(prefix, other);
  }

  // Where it lies in the file; a copy where it lies at an address that kernels
  // cannot load from. Errors: kMismatch (missing, wrong shape), kUnsupported
  // (type; vectors in quantised blocks, which could not be cut anywhere).
  Result<pc_tensor> matrix(const std::string& name, std::uint32_t rows, std::uint32_t cols);
  Result<pc_tensor> vector(const std::string& name, std::uint32_t n);

  // n numbers that formats store as a vector, or as a matrix of one row. Errors: those of vector().
  Result<pc_tensor> one_row(const std::string& name, std::uint32_t n);

  // n numbers in whatever shape a format gives them. Errors: those of vector().
  Result<pc_tensor> numbers(const std::string& name, std::uint32_t n);

  // n matrices that are one tensor, [n, rows, cols], as the rows [n * rows, cols] of one matrix.
  Result<pc_tensor> stack(const std::string& name, std::uint32_t n, std::uint32_t rows,
                          std::uint32_t cols);

  // The same as copies: of matrices that are stored [n, cols, rows], and of MXFP4 whose blocks are
  // `name`_blocks [n, rows, cols / 32, 16] and `name`_scales [n, rows, cols / 32] in bytes.
  Result<pc_tensor> turned_stack(const std::string& name, std::uint32_t n, std::uint32_t rows,
                                 std::uint32_t cols, RowOrder order);
  Result<pc_tensor> mxfp4_stack(const std::string& name, std::uint32_t n, std::uint32_t rows,
                                std::uint32_t cols, RowOrder order);

  // A matrix that was taken, with its columns in this order; a copy where they move.
  pc_tensor ordered_columns(const pc_tensor& matrix, RowOrder order);

  bool has(const std::string& name) const { return find(name) != nullptr; }
  bool has(const std::string& name, std::span<const std::uint64_t> shape) const;

  // A copy of a matrix [rows, cols] that is stored [cols, rows].
  // Errors also: kUnsupported for a quantised one, whose blocks cannot be turned.
  Result<pc_tensor> transposed(const std::string& name, std::uint32_t rows, std::uint32_t cols);

  // A copy of a matrix that was taken, [columns, rows] of it; of one in quantised blocks, as f32.
  pc_tensor turned(const pc_tensor& matrix);

  // The weights of a convolution of each channel, as formats store them, [n_channels, n_taps] or
  // [n_channels, 1, n_taps], as an f32 copy [n_taps, n_channels].
  Result<pc_tensor> taps(const std::string& name, std::uint32_t n_channels, std::uint32_t n_taps);

  // A copy of [n_groups * (group + 2) * height, cols], whose rows come by group
  // ("group" queries, a key and a value, `height` rows each), with all queries
  // first, then all keys, then all values.
  Result<pc_tensor> ungrouped(const pc_tensor& fused, std::uint32_t n_groups, std::uint32_t group,
                              std::uint32_t height);

  // A copy of these rows of a matrix that was taken, in this order.
  pc_tensor rows_in_order(const pc_tensor& matrix, std::span<const std::uint32_t> rows);

  // A copy of a matrix that was taken, as f32, whose columns count by these factors, which are
  // folded() from then on.
  pc_tensor scaled_columns(const pc_tensor& matrix, std::span<const float> factors);

  // n numbers whose negative exponentials -exp(x) the model computes with: these, as f32.
  Result<pc_tensor> negative_exponentials(const std::string& name, std::uint32_t n);

  // Factors that copies have in them and files do not, in order: a cause of what is computed.
  const std::vector<float>& folded() const { return folded_; }

  // What was read by other means: it is not left over.
  void mark(std::string_view name) { taken_.emplace(name); }

  // Names that begin so belong to a part of the model that is not computed: they are not left over.
  void pass_over(std::string prefix) { passed_over_.push_back(std::move(prefix)); }

  // For tied weights, which some files store twice: a copy of `original` under
  // `name` is passed over; anything else under that name is an error.
  Status skip_copy(const std::string& name, const std::string& original);

  // After the last request: kMismatch when the checkpoint holds more than was
  // asked for or passed over, beyond buffers that can be computed from the configuration.
  Status check_nothing_left(std::string_view architecture) const;

  // The memory of the copies; the binder forgets it.
  std::vector<AlignedBuffer<std::byte>> release_copies() { return std::move(copies_); }

 private:
  // Found, of this shape, and taken.
  Result<const TensorView*> stored(const std::string& name, std::span<const std::uint64_t> shape);
  Result<const TensorView*> stored_bytes(const std::string& name,
                                         std::span<const std::uint64_t> shape);
  // n matrices of so many rows can be counted.
  Status check_rows(const std::string& name, std::uint32_t n, std::uint32_t rows) const;
  Result<pc_tensor> take(const std::string& name, std::span<const std::uint64_t> shape,
                         std::uint32_t rows, std::uint32_t cols);

  const TensorMap::value_type* find(const std::string& name) const;
  std::byte* new_copy(std::size_t n_bytes);
  pc_tensor aligned(const pc_tensor& stored);

  const TensorMap& tensors_;
  std::string folder_;
  std::vector<std::pair<std::string, std::string>> other_prefixes_;
  std::vector<AlignedBuffer<std::byte>> copies_;
  std::vector<float> folded_;
  std::set<std::string, std::less<>> taken_;
  std::set<std::string, std::less<>> skipped_;
  std::vector<std::string> passed_over_;
};

// Rows [first, first + n) of a matrix.
pc_tensor rows_of(const pc_tensor& matrix, std::uint32_t first, std::uint32_t n);

}  // namespace pc
