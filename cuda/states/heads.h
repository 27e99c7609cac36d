// Queries, keys and values between the products and attention: normed by heads, rotated, and
// written as rows of K/V. Every function queues on the stream; pointers are the device's.
#pragma once

#include <cstdint>

#include "cuda/device/device.h"
#include "cuda/states/kv_rows.h"

namespace pc::cuda {

// out[i, p] = (cos, sin) of positions[i] * inv_freq[p]. Angles are formed in double: in f32 they
// are off by 2e-4 at position 32K. out: [n, half].
void make_rotations(const std::int32_t* positions, std::uint32_t n, const double* inv_freq,
                    std::uint32_t half, float2* out, cudaStream_t stream);

// Where a token's K and V go.
struct Slot {
  KvPlanesView planes;
  std::uint32_t row;  // of the planes
};

struct HeadsArgs {
  KvShape shape;
  std::uint32_t layer, n_heads;
  std::uint32_t half;            // rotated pairs of a head; 0: none
  bool interleaved;              // pair i is (x[2i], x[2i + 1]); else (x[i], x[i + half])
  float rope_scale;              // of rotated keys (queries get it in attention)
  float eps;                     // of the norms
  const float *q_norm, *k_norm;  // null, or RMS norms of each head: [head_dim]
  const float2* rotations;       // [n, half] of the keys' positions
  const float* qkv;              // [n, stride]: queries, keys, values, biases added
  std::size_t stride;
  const Slot* slots;  // [n]
  float* q;           // out: [n, n_heads, head_dim], pairs split, not rotated
};
void store_heads(const HeadsArgs& args, std::uint32_t n, cudaStream_t stream);

}  // namespace pc::cuda
