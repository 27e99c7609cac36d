#include "cuda/device/numbers.h"
#include "cuda/device/warp.h"
#include "cuda/products/rows.h"

namespace pc::cuda {
namespace {

constexpr unsigned kThreads = 256;

unsigned blocks_for(std::size_t n) {
  constexpr std::size_t kMost = 1 << 20;  // of a grid; threads go on to further elements
  const std::size_t blocks = (n + kThreads - 1) / kThreads;
  return static_cast<unsigned>(blocks < kMost ? blocks : kMost);
}

__device__ inline void store(const Rows& out, std::size_t at, float x) {
  if (out.bf16)
    static_cast<std::uint16_t*>(out.data)[at] = to_bf16(x);
  else
    static_cast<float*>(out.data)[at] = x;
}

// What a row is multiplied with, and what is subtracted before.
struct Moments {
  float mean, factor;
};

// Of get(0..width), by the whole block.
template <class Get>
__device__ Moments moments_of(const NormArgs& args, Get get, float scale, float* scratch) {
  const float n = static_cast<float>(args.width);
  float mean = 0.0f;
  if (args.norm == Norm::kLayer) {
    float sum = 0.0f;
    for (unsigned c = threadIdx.x; c < args.width; c += blockDim.x) sum += get(c) * scale;
    mean = block_sum(sum, scratch) / n;
  }
  float squares = 0.0f;
  for (unsigned c = threadIdx.x; c < args.width; c += blockDim.x) {
    const float x = get(c) * scale - mean;
    squares += x * x;
  }
  const float variance = block_sum(squares, scratch) / n;
  // sqrt(v / scale^2 + eps) = sqrt(v + eps scale^2) / scale
  return {mean / scale, scale / sqrtf(variance + args.eps * scale * scale)};
}

// Squares of numbers beyond 2^64 leave float's range: such a row is scaled first.
template <class Get>
__device__ Moments moments_of(const NormArgs& args, Get get, float* scratch) {
  const Moments m = moments_of(args, get, 1.0f, scratch);
  if (m.factor != 0.0f && m.factor == m.factor) return m;
  float largest = 0.0f;
  for (unsigned c = threadIdx.x; c < args.width; c += blockDim.x)
    largest = fmaxf(largest, fabsf(get(c)));
  return moments_of(args, get, 1.0f / block_max(largest, scratch), scratch);
}

__device__ inline float normed(const NormArgs& args, const Moments& m, float x, unsigned c) {
  const float y = (x - m.mean) * m.factor * args.weight[c];
  return args.norm == Norm::kLayer && args.bias ? y + args.bias[c] : y;
}

__global__ void norm_kernel(NormArgs args, const float* x, const std::uint32_t* rows, Rows out) {
  __shared__ float scratch[kWarp];
  const std::size_t row = rows ? rows[blockIdx.x] : blockIdx.x;
  const float* from = x + row * args.stride;
  const std::size_t to = std::size_t{blockIdx.x} * args.width;
  const auto get = [from](unsigned c) { return from[c]; };
  if (!args.weight) {
    for (unsigned c = threadIdx.x; c < args.width; c += blockDim.x) store(out, to + c, get(c));
    return;
  }
  const Moments m = moments_of(args, get, scratch);
  for (unsigned c = threadIdx.x; c < args.width; c += blockDim.x)
    store(out, to + c, normed(args, m, get(c), c));
}

__global__ void norm_parts_kernel(NormArgs args, float* x) {
  __shared__ float scratch[kWarp];
  float* part = x + blockIdx.x * args.stride + std::size_t{blockIdx.y} * args.width;
  const Moments m = moments_of(
      args, [part](unsigned c) { return part[c]; }, scratch);
  for (unsigned c = threadIdx.x; c < args.width; c += blockDim.x)
    part[c] = normed(args, m, part[c], c);
}

__global__ void scale_and_add_kernel(float* x, float scale, const float* more, std::size_t n) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    x[i] = x[i] * scale + (more ? more[i] : 0.0f);
}

__global__ void bias_kernel(float* x, std::size_t stride, const float* bias, std::uint32_t width,
                            float clamp) {
  float* row = x + blockIdx.x * stride;
  for (unsigned c = threadIdx.x; c < width; c += blockDim.x) {
    const float y = row[c] + (bias ? bias[c] : 0.0f);
    row[c] = clamp != 0.0f ? fminf(fmaxf(y, -clamp), clamp) : y;
  }
}

__global__ void branch_kernel(NormArgs args, const float* bias, float scale, const float* y,
                              float* x) {
  __shared__ float scratch[kWarp];
  const std::size_t row = std::size_t{blockIdx.x} * args.width;
  const auto get = [=](unsigned c) { return y[row + c] + (bias ? bias[c] : 0.0f); };
  Moments m{};
  if (args.weight) m = moments_of(args, get, scratch);
  for (unsigned c = threadIdx.x; c < args.width; c += blockDim.x) {
    const float added = args.weight ? normed(args, m, get(c), c) : get(c);
    x[row + c] += scale * added;
  }
}

__device__ inline float activated(Activation activation, float x) {
  switch (activation) {
    case Activation::kSilu:
      return x / (1.0f + expf(-x));
    case Activation::kGelu:
      return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
    default:  // sqrt(2 / pi)
      return 0.5f * x * (1.0f + tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x)));
  }
}

__global__ void activate_kernel(ActivateArgs args, Rows out) {
  const std::size_t row = blockIdx.x * args.stride, to = std::size_t{blockIdx.x} * args.width;
  for (unsigned c = blockIdx.y * blockDim.x + threadIdx.x; c < args.width;
       c += gridDim.y * blockDim.x) {
    const float up = args.up[row + c] + (args.b_up ? args.b_up[c] : 0.0f);
    if (!args.gate) {
      store(out, to + c, activated(args.activation, up));
    } else {
      const float gate = args.gate[row + c] + (args.b_gate ? args.b_gate[c] : 0.0f);
      store(out, to + c, activated(args.activation, gate) * up);
    }
  }
}

__global__ void round_kernel(const float* x, std::size_t n, std::uint16_t* out) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    out[i] = to_bf16(x[i]);
}

__global__ void measure_kernel(const float* x, std::uint32_t width, RowRange* ranges) {
  __shared__ float scratch[kWarp];
  const float* row = x + std::size_t{blockIdx.x} * width;
  float largest = 0.0f, broken = 0.0f;
  for (unsigned c = threadIdx.x; c < width; c += blockDim.x) {
    const float size = fabsf(row[c]);
    if (size <= 3.402823466e38f)
      largest = fmaxf(largest, size);
    else
      broken += 1.0f;  // exact: a row has less than 2^24 numbers
  }
  largest = block_max(largest, scratch);
  broken = block_sum(broken, scratch);
  if (threadIdx.x == 0) ranges[blockIdx.x] = {largest, static_cast<std::uint32_t>(broken)};
}

__global__ void cap_kernel(float* x, std::size_t n, float scale, float cap) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    const float y = x[i] * scale;
    x[i] = cap != 0.0f ? cap * tanhf(y / cap) : y;
  }
}

}  // namespace

void norm_rows(const NormArgs& args, const float* x, const std::uint32_t* rows, std::uint32_t n,
               Rows out, cudaStream_t stream) {
  launch(norm_kernel, n, kThreads, 0, stream, args, x, rows, out);
}

void norm_parts(const NormArgs& args, std::uint32_t parts, float* x, std::uint32_t n,
                cudaStream_t stream) {
  launch(norm_parts_kernel, dim3(n, parts), kThreads, 0, stream, args, x);
}

void scale_and_add(float* x, float scale, const float* more, std::size_t n, cudaStream_t stream) {
  launch(scale_and_add_kernel, blocks_for(n), kThreads, 0, stream, x, scale, more, n);
}

void add_bias(float* x, std::size_t stride, const float* bias, std::uint32_t width, float clamp,
              std::uint32_t n, cudaStream_t stream) {
  if (!bias && clamp == 0.0f) return;
  launch(bias_kernel, n, kThreads, 0, stream, x, stride, bias, width, clamp);
}

void add_branch(const NormArgs& args, const float* bias, float scale, const float* y, float* x,
                std::uint32_t n, cudaStream_t stream) {
  launch(branch_kernel, n, kThreads, 0, stream, args, bias, scale, y, x);
}

void activate_rows(const ActivateArgs& args, std::uint32_t n, Rows out, cudaStream_t stream) {
  const unsigned parts = (args.width + 4 * kThreads - 1) / (4 * kThreads);
  launch(activate_kernel, dim3(n, parts), kThreads, 0, stream, args, out);
}

void round_rows(const float* x, std::size_t n, std::uint16_t* out, cudaStream_t stream) {
  launch(round_kernel, blocks_for(n), kThreads, 0, stream, x, n, out);
}

void measure_rows(const float* x, std::uint32_t width, std::uint32_t n, RowRange* ranges,
                  cudaStream_t stream) {
  launch(measure_kernel, n, kThreads, 0, stream, x, width, ranges);
}

void cap_rows(float* x, std::size_t n, float scale, float cap, cudaStream_t stream) {
  launch(cap_kernel, blocks_for(n), kThreads, 0, stream, x, n, scale, cap);
}

}  // namespace pc::cuda
