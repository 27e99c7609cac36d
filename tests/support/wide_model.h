// A model's description with all weights as f32, widened once: for the dense oracle over a trained
// checkpoint, which would otherwise take each weight out of its block for every prompt.
//
// Owns the weights; borrows all else of the description it was made from.
#pragma once

#include <deque>
#include <vector>

#include "runtime/backend/backend.h"
#include "simd/kernels.h"

namespace pc::test {

class WideModel {
 public:
  explicit WideModel(const pc_model_desc& from)
      : desc_(from), layers_(from.layers, from.layers + from.n_layers) {
    const bool tied = from.lm_head.data == from.embedding.data;
    desc_.embedding = widen(from.embedding);
    desc_.lm_head = tied ? desc_.embedding : widen(from.lm_head);
    for (pc_layer& w : layers_)
      for (pc_tensor* t : {&w.wq, &w.wk, &w.wv, &w.wo, &w.ffn.gate, &w.ffn.up, &w.ffn.down})
        *t = widen(*t);
    desc_.layers = layers_.data();
  }
  WideModel(const WideModel&) = delete;

  const pc_model_desc& desc() const { return desc_; }

 private:
  pc_tensor widen(const pc_tensor& t) {
    if (!t.data || t.dtype == PC_DTYPE_F32) return t;
    std::vector<float>& wide = weights_.emplace_back(std::size_t{t.rows} * t.cols);
    simd::kScalarKernels.to_f32(t.data, static_cast<simd::Type>(t.dtype), wide.size(), wide.data());
    return {wide.data(), PC_DTYPE_F32, t.rows, t.cols};
  }

  pc_model_desc desc_;
  std::vector<pc_layer> layers_;
  std::deque<std::vector<float>> weights_;
};

}  // namespace pc::test
