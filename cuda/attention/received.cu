#include "cuda/attention/received.h"
#include "cuda/attention/visible.h"
#include "cuda/states/kv_numbers.h"

namespace pc::cuda {
namespace {

constexpr unsigned kKeys = 64;  // of a block, a thread each

// The query of a row and head, turned back as the use wants it. q: [head_dim] shared.
__device__ void rotate_query(const AttentionArgs& a, const Use& use, std::uint32_t row,
                             std::uint32_t head, float* q) {
  const float* from = a.q + (std::size_t{row} * a.n_heads + head) * a.shape.head_dim;
  for (std::uint32_t d = threadIdx.x; d < a.shape.head_dim; d += blockDim.x) {
    q[d] = from[d] * a.attn_scale;
    if (d >= 2 * a.half) continue;
    const std::uint32_t pair = d < a.half ? d : d - a.half;
    const float2 r = a.rotations.rows[std::size_t{row} * a.half + pair];
    const float2 m = a.rotations.moves[std::size_t{use.move} * a.half + pair];
    const float c = r.x * m.x + r.y * m.y, s = r.y * m.x - r.x * m.y;
    const float other = from[d < a.half ? d + a.half : d - a.half];
    q[d] = (from[d] * c + (d < a.half ? -other : other) * s) * (a.rope_scale * a.attn_scale);
  }
}

// A weight's square, in units; one that is no number goes with logits that are none.
__device__ unsigned long long units_of_square(float weight, float unit) {
  const float at_most_one = weight < 1.0f ? weight : 1.0f;
  return static_cast<unsigned long long>(at_most_one * at_most_one * unit);
}

__global__ void received_kernel(ReceivedArgs args) {
  float* const q = dynamic_shared<float>();
  const AttentionArgs& a = args.attention;
  const Use use = *args.use;
  const std::uint32_t kv_head = blockIdx.y, group = a.n_heads / a.shape.n_kv_heads;
  const std::uint32_t key = args.begin + blockIdx.x * kKeys + threadIdx.x;
  const bool seen = key < args.end && !is_hidden(use, key);
  const std::byte* k = args.planes.keys(a.shape, a.layer, kv_head) +
                       std::size_t{key < args.end ? key : args.begin} * a.shape.row();
  const std::int32_t position =
      use.position + static_cast<std::int32_t>(key);  // attached: without gaps
  unsigned long long sum = 0;
  for (std::uint32_t row = use.first_row; row < use.end_row; ++row) {
    const std::int32_t distance = a.positions[row] - position;
    const bool visible =
        seen && distance >= 0 && (a.window == 0 || distance < static_cast<std::int32_t>(a.window));
    for (std::uint32_t g = 0; g < group; ++g) {
      const std::uint32_t head = kv_head * group + g;
      __syncthreads();
      rotate_query(a, use, row, head, q);
      __syncthreads();
      if (!visible) continue;
      float score = 0.0f;
      for (std::uint32_t d = 0; d < a.shape.head_dim; ++d)
        score += q[d] * key_number(a.shape, k, d);
      if (a.softcap != 0.0f) score = a.softcap * tanhf(score / a.softcap);
      if (a.slopes) score -= a.slopes[head] * static_cast<float>(distance);
      sum += units_of_square(expf(score - args.log_sums[std::size_t{row} * a.n_heads + head]),
                             args.unit);
    }
  }
  if (seen)
    atomicAdd(reinterpret_cast<unsigned long long*>(args.weights) + (key - args.begin), sum);
}

}  // namespace

void add_received(const ReceivedArgs& args, cudaStream_t stream) {
  const std::uint32_t n = args.end - args.begin;
  if (n == 0) return;
  const KvShape& shape = args.attention.shape;
  launch(received_kernel, dim3((n + kKeys - 1) / kKeys, shape.n_kv_heads), kKeys,
         shape.head_dim * sizeof(float), stream, args);
}

}  // namespace pc::cuda
