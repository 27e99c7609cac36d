// Takes the tensors of one layer by the names of its format.
//
// Borrows the binder and the names. Threads: thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "runtime/model/shape/model_config.h"
#include "runtime/model/shape/tensor_binder.h"
#include "runtime/model/shape/tensor_names.h"

namespace pc {

class LayerTensors {
 public:
  LayerTensors(const TensorNames& names, TensorBinder& binder, std::uint32_t layer)
      : names_(names),
        binder_(binder),
        prefix_(std::string(names.layer_prefix) + std::to_string(layer) + ".") {}

  std::string full_name(std::string_view name, std::string_view ending = "") const {
    return prefix_ + std::string(name) + std::string(ending);
  }

  Result<pc_tensor> vector(std::string_view name, std::string_view ending, std::uint32_t n) {
    return binder_.vector(full_name(name, ending), n);
  }
  Result<pc_tensor> matrix(std::string_view name, std::uint32_t rows, std::uint32_t cols) {
    const std::string full = full_name(name, ".weight");
    return names_.transposed ? binder_.transposed(full, rows, cols)
                             : binder_.matrix(full, rows, cols);
  }

  // A matrix, and where it has one a bias of its rows.
  Status linear(std::string_view name, std::uint32_t rows, std::uint32_t cols, bool has_bias,
                pc_tensor* weight, pc_tensor* bias) {
    PC_TRY(*weight, matrix(name, rows, cols));
    if (!has_bias) return ok();
    PC_TRY(*bias, vector(name, ".bias", rows));
    return ok();
  }

  // The names of a network.
  struct FfnNames {
    std::string_view gate, up, gate_up, down;
  };

  // `prefix` stands before each name. Shapes: pc_ffn, `width` wide.
  Status network(const ModelConfig& config, const std::string& prefix, const FfnNames& names,
                 std::uint32_t width, pc_ffn* ffn);

  const TensorNames& names() const { return names_; }
  TensorBinder& binder() { return binder_; }

 private:
  const TensorNames& names_;
  TensorBinder& binder_;
  std::string prefix_;
};

}  // namespace pc
