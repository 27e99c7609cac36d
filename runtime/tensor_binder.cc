#include "runtime/tensor_binder.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace pc {
namespace {

struct WeightType {
  std::string_view name;
  pc_dtype dtype;
  std::uint32_t bytes;
};
constexpr std::array<WeightType, 3> kWeightTypes{{
    {"F32", PC_DTYPE_F32, 4},
    {"F16", PC_DTYPE_F16, 2},
    {"BF16", PC_DTYPE_BF16, 2},
}};

std::string where(const std::string& name, const TensorView& view) {
  return view.file + ": tensor \"" + name + "\"";
}

Result<const WeightType*> weight_type(const std::string& name, const TensorView& view) {
  for (const WeightType& type : kWeightTypes) {
    if (type.name == view.dtype) return &type;
  }
  return error(Code::kUnsupported, where(name, view) + " is " + std::string(view.dtype) +
                                       "; weights are F32, F16 or BF16");
}

// Kernels load whole elements. Files of every current writer are aligned; to
// copy the others would double their memory, so they are refused.
bool is_aligned(const TensorView& view, std::uint32_t element_bytes) {
  return reinterpret_cast<std::uintptr_t>(view.bytes.data()) % element_bytes == 0;
}

// Older writers saved the rotary frequencies; the configuration says them again.
bool is_derived_buffer(std::string_view name) {
  return name.ends_with("rotary_emb.inv_freq");
}

}  // namespace

Result<pc_tensor> TensorBinder::take(const std::string& name, std::span<const std::uint64_t> shape,
                                     std::uint32_t rows, std::uint32_t cols) {
  const auto found = checkpoint_.tensors.find(name);
  if (found == checkpoint_.tensors.end()) {
    return error(Code::kMismatch,
                 folder_ + ": the checkpoint has no tensor \"" + name + "\" " + shape_text(shape));
  }
  const TensorView& view = found->second;
  if (!std::equal(shape.begin(), shape.end(), view.shape.begin(), view.shape.end())) {
    return error(Code::kMismatch, where(name, view) + " is " + shape_text(view.shape) +
                                      ", but config.json asks for " + shape_text(shape));
  }
  PC_TRY(const WeightType* type, weight_type(name, view));
  if (!is_aligned(view, type->bytes)) {
    return error(Code::kUnsupported,
                 where(name, view) + " does not lie at a multiple of " +
                     std::to_string(type->bytes) +
                     " bytes; save the file again with a current safetensors library");
  }
  taken_.insert(name);
  return pc_tensor{view.bytes.data(), type->dtype, rows, cols};
}

Result<pc_tensor> TensorBinder::matrix(const std::string& name, std::uint32_t rows,
                                       std::uint32_t cols) {
  return take(name, std::array<std::uint64_t, 2>{rows, cols}, rows, cols);
}

Result<pc_tensor> TensorBinder::vector(const std::string& name, std::uint32_t n) {
  return take(name, std::array<std::uint64_t, 1>{n}, 1, n);
}

Status TensorBinder::skip_copy(const std::string& name, const std::string& original) {
  const auto copy = checkpoint_.tensors.find(name);
  if (copy == checkpoint_.tensors.end()) return ok();
  const TensorView& a = copy->second;
  const TensorView& b = checkpoint_.tensors.at(original);
  if (a.dtype != b.dtype || a.shape != b.shape ||
      std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) != 0) {
    return error(Code::kMismatch, where(name, a) + " differs from \"" + original +
                                      "\", but config.json says tie_word_embeddings");
  }
  skipped_.insert(name);
  return ok();
}

Status TensorBinder::check_nothing_left(std::string_view architecture) const {
  std::size_t n_left = 0;
  const TensorMap::value_type* first = nullptr;
  for (const auto& entry : checkpoint_.tensors) {
    if (taken_.contains(entry.first) || skipped_.contains(entry.first)) continue;
    if (is_derived_buffer(entry.first)) continue;
    if (n_left++ == 0) first = &entry;
  }
  if (n_left == 0) return ok();
  return error(Code::kMismatch,
               where(first->first, first->second) + " " + shape_text(first->second.shape) +
                   " is not part of " + std::string(architecture) + " as config.json describes it" +
                   (n_left > 1 ? ", nor are " + std::to_string(n_left - 1) + " more" : ""));
}

TensorMap TensorBinder::taken() const {
  TensorMap taken;
  for (const std::string& name : taken_) taken.emplace(name, checkpoint_.tensors.at(name));
  return taken;
}

}  // namespace pc
