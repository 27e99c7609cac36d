#include "cuda/device/warp.h"
#include "cuda/states/heads.h"  // Slot
#include "cuda/states/kv_files.h"
#include "cuda/states/kv_numbers.h"
#include "cuda/states/kv_q4.h"

namespace pc::cuda {
namespace {

constexpr unsigned kThreads = 128;
constexpr std::uint32_t kBlock = kFileBlockTokens;

// Words of four bytes that a block of q8 begins with, for each token (modules/kv.h).
__host__ __device__ std::uint32_t scale_words(std::uint32_t head_dim) {
  return (head_dim + 2 * kScaleDims - 1) / (2 * kScaleDims);
}

// Byte of a block at which element (token, d) lies, and of its row.
struct Place {
  std::uint32_t packed, row;
};

__device__ Place place_of(const KvShape& shape, bool values, std::uint32_t t, std::uint32_t d) {
  const std::uint32_t hd = shape.head_dim;
  if (shape.type == KvType::kF32) return {4 * (values ? t * hd + d : d * kBlock + t), 4 * d};
  if (shape.type == KvType::kBf16) {
    const std::uint32_t at =
        values ? t / 2 * 2 * hd + 2 * d + t % 2 : d / 2 * 2 * kBlock + 2 * t + d % 2;
    return {2 * at, 2 * d};
  }
  const std::uint32_t at =
      values ? t / 4 * 4 * hd + 4 * d + t % 4 : d / 4 * 4 * kBlock + 4 * t + d % 4;
  return {scale_words(hd) * kBlock * 4 + at, d};
}

__device__ std::uint32_t element_bytes(KvType type) {
  return type == KvType::kF32 ? 4 : type == KvType::kBf16 ? 2 : 1;
}

// The codes of q8 keys are stored plus 128.
__device__ std::uint8_t flip_of(const KvShape& shape, bool values) {
  return shape.type == KvType::kQ8 && !values ? 0x80 : 0;
}

__device__ void copy_element(std::byte* to, const std::byte* from, std::uint32_t bytes,
                             std::uint8_t flip) {
  if (bytes == 4)
    *reinterpret_cast<std::uint32_t*>(to) = *reinterpret_cast<const std::uint32_t*>(from);
  else if (bytes == 2)
    *reinterpret_cast<std::uint16_t*>(to) = *reinterpret_cast<const std::uint16_t*>(from);
  else
    *reinterpret_cast<std::uint8_t*>(to) = *reinterpret_cast<const std::uint8_t*>(from) ^ flip;
}

__device__ void zero_behind_scales(const KvShape& shape, bool values, std::byte* row) {
  for (std::uint32_t b = scales_end(shape.head_dim, values); b < shape.row(); ++b)
    row[b] = std::byte{0};
}

// Scales of token t of a q8 block between their places; to_row: from the block.
__device__ void copy_scales(const KvShape& shape, bool values, std::uint32_t t, std::byte* block,
                            std::byte* row, bool to_row) {
  std::byte* scales = row + scales_at(shape.head_dim);
  if (to_row) zero_behind_scales(shape, values, row);
  if (values) {
    auto* stored = reinterpret_cast<float*>(block) + t;
    auto* mine = reinterpret_cast<float*>(scales);
    if (to_row)
      *mine = *stored;
    else
      *stored = *mine;
    return;
  }
  auto* stored = reinterpret_cast<std::uint16_t*>(block) + 2 * t;
  auto* mine = reinterpret_cast<std::uint16_t*>(scales);
  for (std::uint32_t g = 0; g * kScaleDims < shape.head_dim; ++g) {
    std::uint16_t& s = stored[g / 2 * 2 * kBlock + g % 2];
    if (to_row)
      mine[g] = s;
    else
      s = mine[g];
  }
}

__device__ std::byte* plane_of(const KvShape& shape, const KvPlanesView& rows,
                               std::uint32_t plane) {
  const std::uint32_t layer = plane / 2 / shape.n_kv_heads, head = plane / 2 % shape.n_kv_heads;
  return plane % 2 ? rows.values(shape, layer, head) : rows.keys(shape, layer, head);
}

// A block of the grid for a block of the file. Through shared memory, since one side is
// contiguous in tokens and the other in dimensions.
__global__ void unpack_kernel(UnpackArgs args, std::uint32_t block_bytes) {
  std::byte* const shared = dynamic_shared<std::byte>();
  const KvShape& shape = args.shape;
  const std::uint32_t plane = args.first_plane + blockIdx.y, block = blockIdx.x;
  const bool values = plane % 2 != 0;
  const std::byte* from =
      args.packed + (std::size_t{blockIdx.y} * args.n_blocks + block) * block_bytes;
  for (std::uint32_t w = threadIdx.x; w < block_bytes / 4; w += blockDim.x)
    reinterpret_cast<std::uint32_t*>(shared)[w] = reinterpret_cast<const std::uint32_t*>(from)[w];
  __syncthreads();
  const std::uint32_t n =
      args.n_rows - block * kBlock < kBlock ? args.n_rows - block * kBlock : kBlock;
  std::byte* rows = plane_of(shape, args.rows, plane) +
                    (std::size_t{args.first_row} + block * kBlock) * shape.row();
  if (shape.stored == KvType::kQ4)
    return unpack_q4({shape.head_dim, values}, shared, n, [&](std::uint32_t t) {
      return reinterpret_cast<std::uint16_t*>(rows + std::size_t{t} * shape.row());
    });
  const std::uint32_t bytes = element_bytes(shape.type);
  for (std::uint32_t i = threadIdx.x; i < n * shape.head_dim; i += blockDim.x) {
    const std::uint32_t t = i / shape.head_dim;
    const Place place = place_of(shape, values, t, i % shape.head_dim);
    copy_element(rows + std::size_t{t} * shape.row() + place.row, shared + place.packed, bytes,
                 flip_of(shape, values));
  }
  if (shape.type == KvType::kQ8 && threadIdx.x < n)
    copy_scales(shape, values, threadIdx.x, shared, rows + std::size_t{threadIdx.x} * shape.row(),
                true);
}

__global__ void pack_kernel(PackArgs args, std::uint32_t block_bytes) {
  std::byte* const shared = dynamic_shared<std::byte>();
  const KvShape& shape = args.shape;
  const std::uint32_t plane = args.first_plane + blockIdx.y, block = blockIdx.x;
  const bool values = plane % 2 != 0;
  for (std::uint32_t w = threadIdx.x; w < block_bytes / 4; w += blockDim.x)
    reinterpret_cast<std::uint32_t*>(shared)[w] = 0;
  __syncthreads();
  const std::uint32_t first = block * kBlock;
  const std::uint32_t n = args.n_tokens - first < kBlock ? args.n_tokens - first : kBlock;
  const std::uint32_t bytes = element_bytes(shape.type);
  const auto row_of = [&](std::uint32_t t) {
    const Slot& slot = args.tokens[first + t];
    return plane_of(shape, slot.planes, plane) + std::size_t{slot.row} * shape.row();
  };
  if (shape.stored == KvType::kQ4) {
    pack_q4({shape.head_dim, values}, shared, n,
            [&](std::uint32_t t) { return reinterpret_cast<const std::uint16_t*>(row_of(t)); });
  } else {
    for (std::uint32_t i = threadIdx.x; i < n * shape.head_dim; i += blockDim.x) {
      const std::uint32_t t = i / shape.head_dim;
      const Place place = place_of(shape, values, t, i % shape.head_dim);
      copy_element(shared + place.packed, row_of(t) + place.row, bytes, flip_of(shape, values));
    }
    if (shape.type == KvType::kQ8 && threadIdx.x < n)
      copy_scales(shape, values, threadIdx.x, shared, row_of(threadIdx.x), false);
  }
  __syncthreads();
  std::byte* to = args.packed + (std::size_t{blockIdx.y} * gridDim.x + block) * block_bytes;
  for (std::uint32_t w = threadIdx.x; w < block_bytes / 4; w += blockDim.x)
    reinterpret_cast<std::uint32_t*>(to)[w] = reinterpret_cast<const std::uint32_t*>(shared)[w];
}

__global__ void compare_kernel(KvShape shape, std::uint32_t layer, const Slot* tokens,
                               const Slot* others, float* distances) {
  __shared__ float scratch[kWarp];
  const Slot a = tokens[blockIdx.x], b = others[blockIdx.x];
  float sum = 0.0f;
  for (std::uint32_t i = threadIdx.x; i < shape.n_kv_heads * shape.head_dim; i += blockDim.x) {
    const std::uint32_t head = i / shape.head_dim, d = i % shape.head_dim;
    const auto number = [&](const Slot& slot) {
      return value_number(
          shape, slot.planes.values(shape, layer, head) + std::size_t{slot.row} * shape.row(), d);
    };
    const float difference = number(a) - number(b);
    sum += difference * difference;
  }
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) distances[blockIdx.x] = sum;
}

}  // namespace

std::uint32_t file_block_bytes(KvType stored, std::uint32_t head_dim) {
  if (stored == KvType::kF32) return kBlock * head_dim * 4;
  if (stored == KvType::kBf16) return kBlock * head_dim * 2;
  if (stored == KvType::kQ4) return q4_lines_bytes(head_dim) + kBlock * head_dim / 2;
  return scale_words(head_dim) * kBlock * 4 + kBlock * head_dim;
}

void unpack_rows(const UnpackArgs& args, cudaStream_t stream) {
  const std::uint32_t bytes = file_block_bytes(args.shape.stored, args.shape.head_dim);
  launch(unpack_kernel, dim3(args.n_blocks, args.n_planes), kThreads, bytes, stream, args, bytes);
}

void pack_rows(const PackArgs& args, cudaStream_t stream) {
  const std::uint32_t bytes = file_block_bytes(args.shape.stored, args.shape.head_dim);
  const dim3 grid((args.n_tokens + kBlock - 1) / kBlock, args.n_planes);
  launch(pack_kernel, grid, kThreads, bytes, stream, args, bytes);
}

void compare_values(const KvShape& shape, std::uint32_t layer, const Slot* tokens,
                    const Slot* others, std::uint32_t n_tokens, float* distances,
                    cudaStream_t stream) {
  launch(compare_kernel, n_tokens, kThreads, 0, stream, shape, layer, tokens, others, distances);
}

}  // namespace pc::cuda
