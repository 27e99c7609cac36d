// The squares of the attention weights of a sweep's rows on each token of a module, over all heads
// (pc_step_item::weights). Queues on the stream.
#pragma once

#include "cuda/attention/attention.h"

namespace pc::cuda {

// Of rows [use.first_row, use.end_row): adds exp(score - log_sum)^2, as a whole number of 1 / unit,
// of rows [begin, end) of the planes to weights[0 .. end - begin). `use` is in device memory;
// log_sums: [rows, n_heads].
struct ReceivedArgs {
  AttentionArgs attention;
  KvPlanesView planes;
  std::uint32_t begin, end;
  const Use* use;
  const float* log_sums;
  float unit;
  std::uint64_t* weights;
};
void add_received(const ReceivedArgs& args, cudaStream_t stream);

}  // namespace pc::cuda
