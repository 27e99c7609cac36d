// A small random model whose matrices are all of one quantised type, and a place where a backend
// packs them. Owns both. Threads: one.
#pragma once

#include <algorithm>
#include <deque>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/backend/backend.h"
#include "tests/support/quant_blocks.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_model.h"

namespace pc::test {

class PackedModel {
 public:
  PackedModel(std::uint64_t seed, simd::Type type, std::uint32_t n_layers = 2)
      : base_(seed, shape_of(n_layers)),
        random_(seed),
        type_(type),
        desc(base_.desc),
        layers_(desc.layers, desc.layers + n_layers) {
    for (pc_layer& layer : layers_)
      for (pc_tensor* t : {&layer.wq, &layer.wk, &layer.wv, &layer.wo, &layer.ffn.gate,
                           &layer.ffn.up, &layer.ffn.down})
        quantise(t);
    quantise(&desc.lm_head);
    desc.layers = layers_.data();
    pack.cache_dir = folder_.path().c_str();
    pack.writable = 1;
    std::fill(std::begin(pack.weights), std::end(pack.weights), static_cast<std::uint8_t>(seed));
  }
  PackedModel(const PackedModel&) = delete;

  // The file, once a backend was opened.
  std::string packed_file() const {
    std::string path;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() + "/packed"))
      if (entry.path().filename().string().size() == 64) path = entry.path().string();
    return path;
  }

 private:
  static TinyShape shape_of(std::uint32_t n_layers) {
    TinyShape shape;
    shape.n_layers = n_layers;
    shape.d_model = shape.d_ffn = 256;  // a block of the largest
    shape.head_dim = shape.rope_dims = 64;
    return shape;
  }
  void quantise(pc_tensor* t) {
    blocks_.push_back(random_blocks(random_, type_, std::size_t{t->rows} * t->cols, 0.1f));
    t->data = blocks_.back().data();
    t->dtype = static_cast<std::uint32_t>(type_);
  }

  TempFolder folder_;
  TinyModel base_;
  Random random_;
  simd::Type type_;
  std::deque<std::vector<std::uint8_t>> blocks_;

 public:
  pc_model_desc desc;
  pc_pack_options pack{};

 private:
  std::vector<pc_layer> layers_;
};

}  // namespace pc::test
