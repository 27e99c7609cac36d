// Between K/V as module files pack it (modules/kv.h) and rows as the device has them
// (cuda/states/kv_rows.h). Both sides of a conversion lie on the device; files' bytes are copied
// there and back as they are. Every function queues on the stream.
#pragma once

#include <cstdint>

#include "cuda/device/device.h"
#include "cuda/states/kv_rows.h"

namespace pc::cuda {

// Bytes of a block of a file's plane: kFileBlockTokens tokens of one layer, head, and keys or
// values. stored: KvShape::stored.
std::uint32_t file_block_bytes(KvType stored, std::uint32_t head_dim);

// Planes are counted as files have them: (layer * n_kv_heads + head) * 2 + (0: keys, 1: values).
struct UnpackArgs {
  KvShape shape;
  const std::byte* packed;  // [n_planes][n_blocks] blocks
  std::uint32_t first_plane, n_planes, n_blocks;
  std::uint32_t first_row;  // of the first block, in the rows
  std::uint32_t n_rows;     // that are wanted of these blocks, from the first on
  KvPlanesView rows;
};
void unpack_rows(const UnpackArgs& args, cudaStream_t stream);

// Tokens in rows of any planes: [n_tokens] in the order in which they are packed.
struct PackArgs {
  KvShape shape;
  const struct Slot* tokens;  // [n_tokens] where they are
  std::uint32_t n_tokens;
  std::uint32_t first_plane, n_planes;
  std::byte* packed;  // out: [n_planes][blocks of n_tokens]; rows behind the last are zero
};
void pack_rows(const PackArgs& args, cudaStream_t stream);

// distances[i] = sum of squares of the differences of the values of tokens[i] and others[i], over
// all heads of a layer.
void compare_values(const KvShape& shape, std::uint32_t layer, const struct Slot* tokens,
                    const struct Slot* others, std::uint32_t n_tokens, float* distances,
                    cudaStream_t stream);

}  // namespace pc::cuda
