// A model's shape out of GGUF's metadata: the keys that all architectures
// share, "ARCHITECTURE.block_count" and so on. Keys of a single architecture are
// read by its file in runtime/model/families.
//
// Pure. Threads: values, thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/gguf.h"
#include "runtime/model/shape/model_config.h"

namespace pc {

// The metadata of one architecture, by keys without the architecture's name in front.
class GgufKeys {
 public:
  GgufKeys(const GgufMetadata& metadata, const TensorMap& tensors, std::string architecture)
      : metadata_(metadata), tensors_(tensors), architecture_(std::move(architecture)) {}

  const GgufMetadata& metadata() const { return metadata_; }
  const TensorMap& tensors() const { return tensors_; }
  std::string full(std::string_view key) const { return architecture_ + "." + std::string(key); }
  bool has(std::string_view key) const { return metadata_.has(full(key)); }
  Result<double> number_or(std::string_view key, double absent) const {
    return metadata_.number_or(full(key), absent);
  }
  // An integer in [1, limit].
  Result<std::uint32_t> extent(std::string_view key, std::uint64_t limit) const;
  Result<std::uint32_t> extent_or(std::string_view key, std::uint64_t limit,
                                  std::uint32_t absent) const;
  // An integer in [0, limit].
  Result<std::uint32_t> count_or(std::string_view key, std::uint64_t limit,
                                 std::uint32_t absent) const;
  bool has_tensor(std::string_view name) const { return tensors_.contains(name); }
  // A tensor of n f32 as numbers; {} where it is absent.
  Result<std::vector<double>> factors(std::string_view tensor, std::uint32_t n) const;

  Error error(Code code, std::string_view key, std::string_view what) const {
    return metadata_.error(code, full(key), what);
  }

 private:
  const GgufMetadata& metadata_;
  const TensorMap& tensors_;
  std::string architecture_;
};

// The configuration without what the family sets. A model that `rotates` gets one RoPE
// for all layers. Which biases there are is seen from the tensors of the first block.
Result<ModelConfig> read_gguf_config(const GgufKeys& keys, bool rotates);

// The number of keys a query sees; 0 = all.
Result<std::uint32_t> read_gguf_window(const GgufKeys& keys, std::uint32_t absent = 0);

// "attention.recurrent_layers", or all layers but every so-manieth: "full_attention_interval", or
// `full_every` where the file is silent.
Result<std::vector<bool>> read_gguf_recurrent_layers(const GgufKeys& keys, std::uint32_t n_layers,
                                                     std::uint32_t full_every);

// "attention.sliding_window_pattern": true where a layer's attention slides. The file lists all
// layers, or says that all but every so-manieth do; `full_every` where it is silent.
Result<std::vector<bool>> read_gguf_sliding_layers(const GgufKeys& keys, std::uint32_t n_layers,
                                                   std::uint32_t full_every);

}  // namespace pc
