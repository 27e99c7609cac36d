// What happens to each row of a sweep by itself: norms, activations, sums, and looks at what the
// layers made. Every function queues on the stream; pointers are the device's.
#pragma once

#include <cstdint>

#include "cuda/device/device.h"

namespace pc::cuda {

// The numbers of pc_norm and pc_activation (runtime/backend/backend.h).
enum class Norm : std::uint32_t { kRms = 0, kLayer = 1 };
enum class Activation : std::uint32_t { kSilu = 0, kGelu = 1, kGeluTanh = 2 };

// Where rows go that a product reads: f32 or bf16, one behind the other.
struct Rows {
  void* data = nullptr;
  bool bf16 = false;
};

struct NormArgs {
  Norm norm;
  float eps;
  std::uint32_t width;  // of what is normed at once
  std::size_t stride;   // from row to row of x
  const float* weight;  // [width], or null: rows stay as they are
  const float* bias;    // null, or [width]
};

// out[i] = norm(x[rows ? rows[i] : i]). out may be x where it is f32 and as wide as its stride.
void norm_rows(const NormArgs& args, const float* x, const std::uint32_t* rows, std::uint32_t n,
               Rows out, cudaStream_t stream);

// In place: each `width` numbers of a row (stride apart), which is `parts` times as wide.
void norm_parts(const NormArgs& args, std::uint32_t parts, float* x, std::uint32_t n,
                cudaStream_t stream);

// x[i] *= scale; x[i] += more[i] where there are more. [n]
void scale_and_add(float* x, float scale, const float* more, std::size_t n, cudaStream_t stream);

// x[i, c] += bias[c]; then cut to [-clamp, clamp] where clamp is not 0. Rows stride apart.
void add_bias(float* x, std::size_t stride, const float* bias, std::uint32_t width, float clamp,
              std::uint32_t n, cudaStream_t stream);

// x += scale * norm(y + bias): what a block adds. [n, args.width] each; bias null: none.
void add_branch(const NormArgs& args, const float* bias, float scale, const float* y, float* x,
                std::uint32_t n, cudaStream_t stream);

// out = act(gate + b_gate) * (up + b_up), or act(up + b_up) where gate is null. [n, width], rows of
// gate and up stride apart.
struct ActivateArgs {
  Activation activation;
  std::uint32_t width;
  std::size_t stride;
  const float *up, *gate, *b_up, *b_gate;
};
void activate_rows(const ActivateArgs& args, std::uint32_t n, Rows out, cudaStream_t stream);

// f32 to bf16. [n]
void round_rows(const float* x, std::size_t n, std::uint16_t* out, cudaStream_t stream);

// Of each row of [n, width]: the largest |x| that is finite, and how many are not.
struct RowRange {
  float largest;
  std::uint32_t n_not_finite;
};
void measure_rows(const float* x, std::uint32_t width, std::uint32_t n, RowRange* ranges,
                  cudaStream_t stream);

// x = x * scale, then cap * tanh(x / cap) where cap is not 0. [n]
void cap_rows(float* x, std::size_t n, float scale, float cap, cudaStream_t stream);

}  // namespace pc::cuda
