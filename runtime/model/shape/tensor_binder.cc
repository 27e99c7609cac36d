#include "runtime/model/shape/tensor_binder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "simd/kernels.h"
#include "simd/types.h"

namespace pc {
namespace {

std::string where(const std::string& name, const TensorView& view) {
  return view.file + ": tensor \"" + name + "\"";
}

Result<simd::Type> weight_type(const std::string& name, const TensorView& view) {
  std::string known;
  for (std::uint32_t i = 1; i < simd::kTypeShapes.size(); ++i) {
    if (view.dtype == simd::kTypeShapes[i].name) return static_cast<simd::Type>(i);
    known += (known.empty() ? "" : ", ") + std::string(simd::kTypeShapes[i].name);
  }
  return error(Code::kUnsupported, where(name, view) + " is " + std::string(view.dtype) +
                                       ", which is not computed; weights may be " + known);
}

// Buffers that older writers saved: rotary frequencies and GPT-2's causal masks. They can
// be computed from the configuration.
bool is_derived_buffer(std::string_view name) {
  return name.ends_with("rotary_emb.inv_freq") || name.ends_with("attn.bias") ||
         name.ends_with("attn.masked_bias");
}

}  // namespace

const TensorMap::value_type* TensorBinder::find(const std::string& name) const {
  auto found = tensors_.find(name);
  for (const auto& [prefix, other] : other_prefixes_) {
    if (found == tensors_.end() && name.starts_with(prefix))
      found = tensors_.find(other + name.substr(prefix.size()));
  }
  return found == tensors_.end() ? nullptr : &*found;
}

Result<const TensorView*> TensorBinder::stored(const std::string& name,
                                               std::span<const std::uint64_t> shape) {
  const auto* found = find(name);
  if (!found) {
    return error(Code::kMismatch,
                 folder_ + ": the checkpoint has no tensor \"" + name + "\" " + shape_text(shape));
  }
  const TensorView& view = found->second;
  if (!std::equal(shape.begin(), shape.end(), view.shape.begin(), view.shape.end())) {
    return error(Code::kMismatch, where(name, view) + " is " + shape_text(view.shape) +
                                      ", but the model's configuration asks for " +
                                      shape_text(shape));
  }
  taken_.insert(found->first);
  return &view;
}

Result<pc_tensor> TensorBinder::take(const std::string& name, std::span<const std::uint64_t> shape,
                                     std::uint32_t rows, std::uint32_t cols) {
  PC_TRY(const TensorView* const view, stored(name, shape));
  PC_TRY(const simd::Type type, weight_type(name, *view));
  return pc_tensor{view->bytes.data(), static_cast<std::uint32_t>(type), rows, cols};
}

Result<pc_tensor> TensorBinder::matrix(const std::string& name, std::uint32_t rows,
                                       std::uint32_t cols) {
  PC_TRY(const pc_tensor stored, take(name, std::array<std::uint64_t, 2>{rows, cols}, rows, cols));
  return aligned(stored);
}

Status TensorBinder::check_rows(const std::string& name, std::uint32_t n,
                                std::uint32_t rows) const {
  if (std::uint64_t{n} * rows <= UINT32_MAX) return ok();
  return error(Code::kUnsupported,
               folder_ + ": tensor \"" + name + "\" would have more rows than are counted");
}

Result<const TensorView*> TensorBinder::stored_bytes(const std::string& name,
                                                     std::span<const std::uint64_t> shape) {
  PC_TRY(const TensorView* const view, stored(name, shape));
  if (view->dtype == "U8") return view;
  return error(Code::kUnsupported,
               where(name, *view) + " is " + std::string(view->dtype) + ", where U8 is expected");
}

Result<pc_tensor> TensorBinder::stack(const std::string& name, std::uint32_t n, std::uint32_t rows,
                                      std::uint32_t cols) {
  PC_CHECK_OK(check_rows(name, n, rows));
  PC_TRY(const pc_tensor stored,
         take(name, std::array<std::uint64_t, 3>{n, rows, cols}, n * rows, cols));
  return aligned(stored);
}

Result<pc_tensor> TensorBinder::vector(const std::string& name, std::uint32_t n) {
  PC_TRY(const pc_tensor stored, take(name, std::array<std::uint64_t, 1>{n}, 1, n));
  if (simd::is_quantised(static_cast<simd::Type>(stored.dtype))) {
    return error(Code::kUnsupported,
                 folder_ + ": tensor \"" + name + "\" is a vector in quantised blocks");
  }
  return aligned(stored);
}

Result<pc_tensor> TensorBinder::one_row(const std::string& name, std::uint32_t n) {
  const auto* found = find(name);
  const bool as_matrix = found && found->second.shape.size() == 2;
  PC_TRY(const pc_tensor stored, as_matrix ? matrix(name, 1, n) : vector(name, n));
  if (!simd::is_quantised(static_cast<simd::Type>(stored.dtype))) return stored;
  return error(Code::kUnsupported, folder_ + ": tensor \"" + name + "\" is in quantised blocks");
}

Result<pc_tensor> TensorBinder::numbers(const std::string& name, std::uint32_t n) {
  const auto* found = find(name);
  std::uint64_t count = 1;  // fits: the parser checked it
  if (found)
    for (const std::uint64_t extent : found->second.shape) count *= extent;
  if (!found || count != n) return vector(name, n);  // which says what is wrong
  PC_TRY(const pc_tensor stored, take(name, found->second.shape, 1, n));
  if (!simd::is_quantised(static_cast<simd::Type>(stored.dtype))) return aligned(stored);
  return error(Code::kUnsupported, folder_ + ": tensor \"" + name + "\" is in quantised blocks");
}

std::byte* TensorBinder::new_copy(std::size_t n_bytes) {
  return copies_.emplace_back(n_bytes).data();
}

// Kernels load whole elements, which must be aligned. Writers of today align them, but
// older published files, openai-community/gpt2 among them, begin their data anywhere.
pc_tensor TensorBinder::aligned(const pc_tensor& stored) {
  const auto type = static_cast<simd::Type>(stored.dtype);
  if (reinterpret_cast<std::uintptr_t>(stored.data) % simd::shape_of(type).alignment == 0)
    return stored;
  const std::size_t n_bytes = simd::bytes_of(type, std::size_t{stored.rows} * stored.cols);
  std::byte* copy = new_copy(n_bytes);
  std::memcpy(copy, stored.data, n_bytes);
  return pc_tensor{copy, stored.dtype, stored.rows, stored.cols};
}

Result<pc_tensor> TensorBinder::transposed(const std::string& name, std::uint32_t rows,
                                           std::uint32_t cols) {
  PC_TRY(pc_tensor stored, take(name, std::array<std::uint64_t, 2>{cols, rows}, cols, rows));
  const auto type = static_cast<simd::Type>(stored.dtype);
  if (simd::is_quantised(type)) {
    return error(Code::kUnsupported,
                 folder_ + ": tensor \"" + name + "\" is stored transposed in quantised blocks");
  }
  return turned(stored);
}

pc_tensor TensorBinder::turned(const pc_tensor& matrix) {
  const std::size_t n = std::size_t{matrix.rows} * matrix.cols;
  auto type = static_cast<simd::Type>(matrix.dtype);
  const auto* from = static_cast<const std::byte*>(matrix.data);
  AlignedBuffer<float> wide(simd::is_quantised(type) ? n : 0);
  if (simd::is_quantised(type)) {
    simd::selected_or_scalar_kernels().to_f32(from, type, n, wide.data());
    from = reinterpret_cast<const std::byte*>(wide.data());
    type = simd::Type::kF32;
  }
  const std::size_t size = simd::bytes_of(type, 1);
  std::byte* copy = new_copy(n * size);
  turn(from, matrix.cols, matrix.rows, size, RowOrder::kPlain, copy);
  return {copy, static_cast<std::uint32_t>(type), matrix.cols, matrix.rows};
}

Result<pc_tensor> TensorBinder::turned_stack(const std::string& name, std::uint32_t n,
                                             std::uint32_t rows, std::uint32_t cols,
                                             RowOrder order) {
  PC_CHECK_OK(check_rows(name, n, rows));
  PC_TRY(const pc_tensor turned_rows,
         take(name, std::array<std::uint64_t, 3>{n, cols, rows}, n * rows, cols));
  const auto type = static_cast<simd::Type>(turned_rows.dtype);
  if (simd::is_quantised(type)) {
    return error(Code::kUnsupported,
                 folder_ + ": tensor \"" + name + "\" is stored turned in quantised blocks");
  }
  const std::size_t size = simd::bytes_of(type, 1), each = std::size_t{rows} * cols * size;
  const auto* from = static_cast<const std::byte*>(turned_rows.data);
  std::byte* const copy = new_copy(n * each);
  for (std::size_t i = 0; i < n; ++i)
    turn(from + i * each, rows, cols, size, order, copy + i * each);
  return pc_tensor{copy, turned_rows.dtype, n * rows, cols};
}

Result<pc_tensor> TensorBinder::mxfp4_stack(const std::string& name, std::uint32_t n,
                                            std::uint32_t rows, std::uint32_t cols,
                                            RowOrder order) {
  constexpr std::uint32_t kBlock = 32, kPairs = kBlock / 2;
  constexpr auto kType = simd::Type::kMXFP4;
  PC_CHECK_OK(check_rows(name, n, rows));
  const std::size_t row_blocks = cols / kBlock;
  PC_TRY(const TensorView* const pairs,
         stored_bytes(name + "_blocks", std::array<std::uint64_t, 4>{n, rows, row_blocks, kPairs}));
  PC_TRY(const TensorView* const scales,
         stored_bytes(name + "_scales", std::array<std::uint64_t, 3>{n, rows, row_blocks}));
  if (cols % kBlock != 0)
    return error(Code::kUnsupported, where(name + "_blocks", *pairs) + " has rows of " +
                                         std::to_string(cols) + " numbers, which blocks of " +
                                         std::to_string(kBlock) + " do not fill");
  const std::size_t row_bytes = simd::bytes_of(kType, cols);
  std::byte* const copy = new_copy(std::size_t{n} * rows * row_bytes);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t r = 0; r < rows; ++r) {
      const std::size_t first = (i * rows + stored_row(order, r, rows)) * row_blocks;
      mxfp4_blocks(pairs->bytes.data() + first * kPairs, scales->bytes.data() + first, row_blocks,
                   copy + (i * rows + r) * row_bytes);
    }
  }
  // A digest's pass over weights, which looks for such numbers, knows the file's as bytes alone.
  if (!simd::selected_or_scalar_kernels().all_finite(copy, kType, std::size_t{n} * rows * cols))
    return error(Code::kCorrupt, where(name + "_scales", *scales) +
                                     " has a scale of 2^126 or more, whose numbers are not finite");
  return pc_tensor{copy, static_cast<std::uint32_t>(kType), n * rows, cols};
}

bool TensorBinder::has(const std::string& name, std::span<const std::uint64_t> shape) const {
  const auto* found = find(name);
  return found && std::ranges::equal(shape, found->second.shape);
}

pc_tensor TensorBinder::ordered_columns(const pc_tensor& matrix, RowOrder order) {
  if (order == RowOrder::kPlain) return matrix;
  const std::size_t size = simd::bytes_of(static_cast<simd::Type>(matrix.dtype), 1);
  const std::size_t row_bytes = matrix.cols * size;
  std::byte* const copy = new_copy(matrix.rows * row_bytes);
  for (std::size_t r = 0; r < matrix.rows; ++r) {
    const auto* const row = static_cast<const std::byte*>(matrix.data) + r * row_bytes;
    turn(row, matrix.cols, 1, size, order, copy + r * row_bytes);
  }
  return {copy, matrix.dtype, matrix.rows, matrix.cols};
}

Result<pc_tensor> TensorBinder::taps(const std::string& name, std::uint32_t n_channels,
                                     std::uint32_t n_taps) {
  const auto* found = find(name);
  const bool deep = found && found->second.shape.size() == 3;
  const std::array<std::uint64_t, 3> shape{n_channels, deep ? 1 : n_taps, n_taps};
  PC_TRY(const pc_tensor stored,
         take(name, std::span(shape).first(deep ? 3 : 2), n_channels, n_taps));
  const std::size_t n = std::size_t{n_channels} * n_taps;
  AlignedBuffer<float> wide(n);
  const auto type = static_cast<simd::Type>(stored.dtype);
  simd::selected_or_scalar_kernels().to_f32(static_cast<const std::byte*>(aligned(stored).data),
                                            type, n, wide.data());
  return turned({wide.data(), PC_DTYPE_F32, n_channels, n_taps});
}

pc_tensor TensorBinder::rows_in_order(const pc_tensor& matrix,
                                      std::span<const std::uint32_t> rows) {
  const std::size_t row_bytes = simd::bytes_of(static_cast<simd::Type>(matrix.dtype), matrix.cols);
  const auto* const from = static_cast<const std::byte*>(matrix.data);
  std::byte* const copy = new_copy(rows.size() * row_bytes);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::memcpy(copy + i * row_bytes, from + rows[i] * row_bytes, row_bytes);
  return {copy, matrix.dtype, static_cast<std::uint32_t>(rows.size()), matrix.cols};
}

pc_tensor TensorBinder::scaled_columns(const pc_tensor& matrix, std::span<const float> factors) {
  folded_.insert(folded_.end(), factors.begin(), factors.end());
  const auto type = static_cast<simd::Type>(matrix.dtype);
  const std::size_t row_bytes = simd::bytes_of(type, matrix.cols);
  std::byte* const copy = new_copy(std::size_t{matrix.rows} * matrix.cols * sizeof(float));
  AlignedBuffer<float> wide(matrix.cols);
  for (std::size_t r = 0; r < matrix.rows; ++r) {
    simd::selected_or_scalar_kernels().to_f32(
        static_cast<const std::byte*>(matrix.data) + r * row_bytes, type, matrix.cols, wide.data());
    for (std::uint32_t c = 0; c < matrix.cols; ++c) wide.data()[c] *= factors[c];
    std::memcpy(copy + r * matrix.cols * sizeof(float), wide.data(), matrix.cols * sizeof(float));
  }
  return {copy, PC_DTYPE_F32, matrix.rows, matrix.cols};
}

Result<pc_tensor> TensorBinder::negative_exponentials(const std::string& name, std::uint32_t n) {
  PC_TRY(const pc_tensor stored, numbers(name, n));
  AlignedBuffer<float> wide(n);
  simd::selected_or_scalar_kernels().to_f32(stored.data, static_cast<simd::Type>(stored.dtype), n,
                                            wide.data());
  for (std::uint32_t i = 0; i < n; ++i) wide.data()[i] = -std::exp(wide.data()[i]);
  std::byte* const copy = new_copy(n * sizeof(float));
  std::memcpy(copy, wide.data(), n * sizeof(float));
  return pc_tensor{copy, PC_DTYPE_F32, 1, n};
}

Result<pc_tensor> TensorBinder::ungrouped(const pc_tensor& fused, std::uint32_t n_groups,
                                          std::uint32_t group, std::uint32_t height) {
  const std::size_t head =
      simd::bytes_of(static_cast<simd::Type>(fused.dtype), std::size_t{height} * fused.cols);
  std::byte* copy = new_copy(head * n_groups * (group + 2));
  const auto* from = static_cast<const std::byte*>(fused.data);
  for (std::size_t g = 0; g < n_groups; ++g) {
    const std::byte* mine = from + g * (group + 2) * head;
    std::memcpy(copy + g * group * head, mine, group * head);
    std::memcpy(copy + (std::size_t{n_groups} * group + g) * head, mine + group * head, head);
    std::memcpy(copy + (std::size_t{n_groups} * (group + 1) + g) * head, mine + (group + 1) * head,
                head);
  }
  return pc_tensor{copy, fused.dtype, fused.rows, fused.cols};
}

pc_tensor rows_of(const pc_tensor& matrix, std::uint32_t first, std::uint32_t n) {
  const std::size_t offset =
      simd::bytes_of(static_cast<simd::Type>(matrix.dtype), std::size_t{first} * matrix.cols);
  return {static_cast<const std::byte*>(matrix.data) + offset, matrix.dtype, n, matrix.cols};
}

Status TensorBinder::skip_copy(const std::string& name, const std::string& original) {
  const auto* copy = find(name);
  if (!copy) return ok();
  const TensorView& a = copy->second;
  const TensorView& b = find(original)->second;
  if (a.dtype != b.dtype || a.shape != b.shape ||
      std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) != 0) {
    return error(Code::kMismatch, where(name, a) + " differs from \"" + original +
                                      "\", but config.json says tie_word_embeddings");
  }
  skipped_.insert(copy->first);
  return ok();
}

Status TensorBinder::check_nothing_left(std::string_view architecture) const {
  std::size_t n_left = 0;
  const TensorMap::value_type* first = nullptr;
  for (const auto& entry : tensors_) {
    if (taken_.contains(entry.first) || skipped_.contains(entry.first)) continue;
    if (is_derived_buffer(entry.first)) continue;
    const auto begins = [&](const std::string& prefix) { return entry.first.starts_with(prefix); };
    if (std::ranges::any_of(passed_over_, begins)) continue;
    if (n_left++ == 0) first = &entry;
  }
  if (n_left == 0) return ok();
  return error(Code::kMismatch,
               where(first->first, first->second) + " " + shape_text(first->second.shape) +
                   " is not part of " + std::string(architecture) +
                   " as its configuration describes it" +
                   (n_left > 1 ? ", nor are " + std::to_string(n_left - 1) + " more" : ""));
}

}  // namespace pc
