// A mixture of experts over the rows of a sweep: rows are sorted by the experts that they go to, so
// that each expert's matrices are read once for all of them, and what nobody chose is not touched
// (docs/adr/0051-layers-as-values.md).
//
// Owns its scratch, sized at construction for the model's largest mixture; borrows the rest.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/parallel.h"
#include "base/status.h"
#include "runtime/backend/backend.h"
#include "runtime/cpu/layers/router.h"
#include "runtime/cpu/products/gemm.h"
#include "simd/kernels.h"

namespace pc {

class Mixture {
 public:
  Mixture(const pc_model_desc& desc, const simd::Kernels& kernels, Parallel parallel,
          std::uint32_t max_rows);

  // The largest x that its products have: none where the model has no mixture.
  static std::vector<Gemm::Extent> extents(const pc_model_desc& desc, std::uint32_t max_rows);

  // Chooses each row's experts. x: [n, d_model], the router's input; vectors of the mixture are
  // f32.
  Status choose(const pc_mixture& mixture, const float* x, std::uint32_t n, Gemm* gemm);

  // y (+)= what the chosen experts make of x. x, y: [n, d_model]; y may be x where nothing is
  // added.
  Status run(const pc_mixture& mixture, const float* x, std::uint32_t n, bool accumulate,
             Gemm* gemm, float* y);

 private:
  void sort(const pc_mixture& mixture, std::uint32_t n);
  Status multiply(const pc_mixture& mixture, const float* x, std::uint32_t n, Gemm* gemm);
  void add_up(const pc_mixture& mixture, std::uint32_t n, bool accumulate, float* y) const;
  void activate(const pc_mixture& mixture, std::uint32_t place);

  const simd::Kernels& kernels_;
  Parallel parallel_;
  std::uint32_t d_model_;
  simd::Activation activation_;

  AlignedBuffer<float> logits_;         // [max_rows, n_experts]
  std::vector<ExpertChoice> choices_;   // [n, n_used], a row's best first
  std::vector<std::uint32_t> places_;   // [n, n_used] where the choice stands when sorted
  std::vector<std::uint32_t> sources_;  // [n * n_used] the row that stands there
  std::vector<std::uint32_t> experts_;  // [n * n_used] and the expert
  std::vector<Gemm::Group> groups_;     // of places, one an expert that is chosen
  std::vector<Gemm::Product> products_;

  // Rows in sorted order.
  AlignedBuffer<float> rows_;       // [n * n_used, d_model] of x; then what the experts made
  AlignedBuffer<float> gate_, up_;  // [n * n_used, d_ffn of an expert]
};

}  // namespace pc
