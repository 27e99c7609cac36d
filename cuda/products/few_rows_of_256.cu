#include "cuda/products/few_rows_blocks.h"

namespace pc::cuda {

void multiply_blocks_of_256(const Weight& w, const FewRows& a, cudaStream_t stream) {
  with_blocks_of_256(w.dtype, [&](auto type) {
    few_rows::multiply<few_rows::Blocks<type()>>(few_rows::planes_of(w), a, stream);
  });
}

}  // namespace pc::cuda
