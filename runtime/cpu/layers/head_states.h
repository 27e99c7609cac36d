// The heads of a recurrent layer that keep a state S [d_k, d_v] each: the gated delta rule (arXiv
// 2412.06464) and Mamba-2 (arXiv 2405.21060), as pc_recurrent of runtime/backend/backend.h says
// them.
//
// Owns its scratch, sized at construction for the model's largest layer; borrows the rest.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/parallel.h"
#include "base/status.h"
#include "runtime/backend/backend.h"
#include "runtime/cpu/layers/recurrent_rows.h"
#include "runtime/cpu/products/gemm.h"
#include "simd/kernels.h"

namespace pc {

class HeadStates {
 public:
  HeadStates(const pc_model_desc& desc, const simd::Kernels& kernels, Parallel parallel,
             std::uint32_t max_rows, bool alike);

  // z: [rows of the sweep, n_heads * d_v], normed and gated. timelines: rows of one timeline, the
  // later of which go on behind the earlier ones, stand one behind the other.
  Status run(const RecurrentLayer& layer, const Gemm::Input& h,
             std::span<const RecurrentRows> timelines, Gemm* gemm, float* z);

 private:
  void prepare_row(const pc_recurrent& r, std::uint32_t row);
  void recur(const RecurrentLayer& layer, const RecurrentRows& rows, std::uint32_t head,
             float* z) const;
  simd::RecurArgs through_rows(const pc_recurrent& r, const RecurrentRows& rows,
                               std::uint32_t head) const;
  void make_map(const RecurrentLayer& layer, const RecurrentRows& rows, std::uint32_t head) const;
  static void begin_map(const pc_recurrent& r, const MadeMap::Running& map);
  static void end_map(const RecurrentLayer& layer, const RecurrentRows& rows, std::uint32_t head);
  void keep_tokens(const RecurrentLayer& layer, const RecurrentRows& rows) const;
  void finish_row(const pc_recurrent& r, std::uint32_t row, float* z);

  const simd::Kernels& kernels_;
  Parallel parallel_;
  const float norm_eps_;
  const bool alike_;             // a row's numbers do not depend on how many come with it
  AlignedBuffer<float> inputs_;  // [rows, n_channels] u
  AlignedBuffer<float> read_;    // [rows, n_channels] q, k and v, or x, k and q
  AlignedBuffer<float> gate_;    // [rows, n_heads * d_v]
  AlignedBuffer<float> decay_;   // [rows, n_heads] what `decay` makes, then what S decays by
  AlignedBuffer<float> write_;   // [rows, n_heads]
  std::vector<std::span<const RecurrentRows>> by_timeline_;  // of the sweep
};

}  // namespace pc
