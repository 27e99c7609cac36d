#include "cuda/device/numbers.h"
#include "cuda/device/warp.h"
#include "cuda/states/heads.h"

namespace pc::cuda {
namespace {

constexpr unsigned kHeadsAtOnce = 4;  // a warp each
constexpr std::uint32_t kMostHeadDim = 512;

// Numbers whose scale would be that of less than this count as zeros (simd/kernels.h).
constexpr float kLeastScale = 0x1p-100f;

__global__ void rotations_kernel(const std::int32_t* positions, std::uint32_t n,
                                 const double* inv_freq, std::uint32_t half, float2* out) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= std::size_t{n} * half) return;
  double s, c;
  sincos(positions[i / half] * inv_freq[i % half], &s, &c);
  out[i] = make_float2(static_cast<float>(c), static_cast<float>(s));
}

// A head of a row as a warp works on it; lane l has dimensions l, l + 32 and so on.
struct Head {
  float* x;  // [head_dim] shared
  std::uint32_t dim;
  unsigned lane;

  __device__ void load(const float* from, std::uint32_t pairs_to_split) const {
    for (unsigned d = lane; d < dim; d += kWarp) {
      const unsigned pair = d < pairs_to_split ? d : d - pairs_to_split;
      const bool split = d < 2 * pairs_to_split;
      x[d] = from[split ? 2 * pair + (d < pairs_to_split ? 0 : 1) : d];
    }
    __syncwarp();
  }
};

// As it lies in memory: norms come before pairs are split, and their weights lie alike.
__device__ float norm_factor(const float* from, std::uint32_t dim, float eps, unsigned lane) {
  float squares = 0.0f, largest = 0.0f;
  for (unsigned d = lane; d < dim; d += kWarp) largest = fmaxf(largest, fabsf(from[d]));
  largest = warp_max(largest);
  const float scale = largest > 0x1p60f ? 1.0f / largest : 1.0f;  // squares stay in float's range
  for (unsigned d = lane; d < dim; d += kWarp) squares += from[d] * scale * (from[d] * scale);
  squares = warp_sum(squares);
  return scale / sqrtf(squares / static_cast<float>(dim) + eps * scale * scale);
}

// Loads a head, normed where there is a norm, its rotated pairs split.
__device__ void load_head(const HeadsArgs& args, const float* from, const float* norm,
                          const Head& head) {
  const std::uint32_t split = args.interleaved ? args.half : 0;
  const float factor = norm ? norm_factor(from, head.dim, args.eps, head.lane) : 1.0f;
  head.load(from, split);
  if (!norm) return;
  for (unsigned d = head.lane; d < head.dim; d += kWarp) {
    const unsigned pair = d < split ? d : d - split;
    const unsigned at = d < 2 * split ? 2 * pair + (d < split ? 0 : 1) : d;
    head.x[d] *= factor * norm[at];
  }
  __syncwarp();
}

__device__ void rotate(const HeadsArgs& args, const float2* rotations, const Head& head) {
  for (unsigned i = head.lane; i < args.half; i += kWarp) {
    const float2 r = rotations[i];
    const float a = head.x[i], b = head.x[i + args.half];
    head.x[i] = (a * r.x - b * r.y) * args.rope_scale;
    head.x[i + args.half] = (b * r.x + a * r.y) * args.rope_scale;
  }
  __syncwarp();
}

__device__ float largest_of(const Head& head, unsigned begin, unsigned end) {
  float largest = 0.0f;
  for (unsigned d = begin + head.lane; d < end; d += kWarp)
    largest = fmaxf(largest, fabsf(head.x[d]));
  return warp_max(largest);
}

__device__ bool is_finite(const Head& head) {
  float broken = 0.0f;
  for (unsigned d = head.lane; d < head.dim; d += kWarp) broken += head.x[d] * 0.0f;
  return warp_sum(broken) == 0.0f;
}

// max |x| / 127, and 0 where that is too small to divide by.
__device__ float q8_scale(float largest) {
  return largest >= kLeastScale ? largest / 127.0f : 0.0f;
}

__device__ std::int8_t q8_code(float x, float inverse) {
  return static_cast<std::int8_t>(static_cast<int>(rintf(x * inverse)));
}

__device__ void zero_behind_scales(const Head& head, bool values, std::byte* row) {
  const std::uint32_t end = row_bytes(KvType::kQ8, head.dim);
  for (std::uint32_t b = scales_end(head.dim, values) + head.lane; b < end; b += kWarp)
    row[b] = std::byte{0};
}

__device__ void write_q8_key(const Head& head, bool finite, std::byte* row) {
  auto* codes = reinterpret_cast<std::int8_t*>(row);
  auto* scales = reinterpret_cast<std::uint16_t*>(row + scales_at(head.dim));
  for (unsigned begin = 0; begin < head.dim; begin += kScaleDims) {
    const unsigned end = begin + kScaleDims < head.dim ? begin + kScaleDims : head.dim;
    const float exact = q8_scale(largest_of(head, begin, end));
    // The next bf16 that is not below it, so that no code exceeds 127.
    const auto scale = finite ? static_cast<std::uint16_t>((bits_of(exact) + 0xffffu) >> 16)
                              : std::uint16_t{0x7fc0};
    const float inverse = finite && scale != 0 ? 1.0f / from_bf16(scale) : 0.0f;
    const unsigned d = begin + head.lane;
    if (d < end) codes[d] = inverse == 0.0f ? std::int8_t{0} : q8_code(head.x[d], inverse);
    if (head.lane == 0) scales[begin / kScaleDims] = scale;
  }
  zero_behind_scales(head, false, row);
}

__device__ void write_q8_value(const Head& head, bool finite, std::byte* row) {
  auto* codes = reinterpret_cast<std::int8_t*>(row);
  const float largest = largest_of(head, 0, head.dim);
  const float scale = finite ? q8_scale(largest) : 0.0f;
  const float inverse = scale == 0.0f ? 0.0f : 1.0f / scale;
  for (unsigned d = head.lane; d < head.dim; d += kWarp)
    codes[d] = inverse == 0.0f ? std::int8_t{0} : q8_code(head.x[d], inverse);
  if (head.lane == 0) *reinterpret_cast<float*>(row + scales_at(head.dim)) = scale;
  zero_behind_scales(head, true, row);
}

__device__ void write_plain(KvType type, const Head& head, std::byte* row) {
  for (unsigned d = head.lane; d < head.dim; d += kWarp) {
    if (type == KvType::kF32)
      reinterpret_cast<float*>(row)[d] = head.x[d];
    else
      reinterpret_cast<std::uint16_t*>(row)[d] = to_bf16(head.x[d]);
  }
}

__device__ void store_key_and_value(const HeadsArgs& args, std::uint32_t i, std::uint32_t kv_head,
                                    const Head& key, const Head& value) {
  const Slot slot = args.slots[i];
  const std::size_t row = std::size_t{slot.row} * args.shape.row();
  std::byte* k = slot.planes.keys(args.shape, args.layer, kv_head) + row;
  std::byte* v = slot.planes.values(args.shape, args.layer, kv_head) + row;
  if (args.shape.type != KvType::kQ8) {
    write_plain(args.shape.type, key, k);
    write_plain(args.shape.type, value, v);
    return;
  }
  const bool value_finite = is_finite(value), key_finite = is_finite(key);
  write_q8_key(key, value_finite && key_finite, k);
  write_q8_value(value, value_finite, v);
}

__global__ void heads_kernel(HeadsArgs args) {
  __shared__ float x[kHeadsAtOnce][2 * kMostHeadDim];
  const std::uint32_t hd = args.shape.head_dim, i = blockIdx.x;
  const unsigned warp = threadIdx.x / kWarp;
  const std::uint32_t index = blockIdx.y * kHeadsAtOnce + warp;
  if (index >= args.n_heads + args.shape.n_kv_heads) return;
  const Head head{x[warp], hd, threadIdx.x % kWarp};
  const float* row = args.qkv + i * args.stride;
  if (index < args.n_heads) {
    load_head(args, row + std::size_t{index} * hd, args.q_norm, head);
    float* q = args.q + (std::size_t{i} * args.n_heads + index) * hd;
    for (unsigned d = head.lane; d < hd; d += kWarp) q[d] = head.x[d];
    return;
  }
  const std::uint32_t kv_head = index - args.n_heads;
  const float* k = row + (std::size_t{args.n_heads} + kv_head) * hd;
  const Head value{x[warp] + kMostHeadDim, hd, head.lane};
  load_head(args, k, args.k_norm, head);
  rotate(args, args.rotations + std::size_t{i} * args.half, head);
  value.load(k + std::size_t{args.shape.n_kv_heads} * hd, 0);
  store_key_and_value(args, i, kv_head, head, value);
}

}  // namespace

void make_rotations(const std::int32_t* positions, std::uint32_t n, const double* inv_freq,
                    std::uint32_t half, float2* out, cudaStream_t stream) {
  constexpr unsigned kThreads = 128;
  const std::size_t blocks = (std::size_t{n} * half + kThreads - 1) / kThreads;
  launch(rotations_kernel, static_cast<unsigned>(blocks), kThreads, 0, stream, positions, n,
         inv_freq, half, out);
}

void store_heads(const HeadsArgs& args, std::uint32_t n, cudaStream_t stream) {
  const std::uint32_t heads = args.n_heads + args.shape.n_kv_heads;
  const dim3 grid(n, (heads + kHeadsAtOnce - 1) / kHeadsAtOnce);
  launch(heads_kernel, grid, kHeadsAtOnce * kWarp, 0, stream, args);
}

}  // namespace pc::cuda
