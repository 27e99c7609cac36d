// The vocabulary of attention state: what one cached run of tokens looks like
// in memory, whoever owns that memory.
//
// Rows (tokens) are packed in blocks of kKvBlockTokens, so that the bytes of
// a file are the bytes that the attention kernel loads
// (docs/adr/0003-kv-layout.md, docs/MODULE_FORMAT.md):
//
//   f32   keys   [n_blocks][head_dim][16 tokens]          f32
//         values [n_blocks][16 tokens][head_dim]          f32
//   bf16  keys   [n_blocks][head_dim/2][16 tokens][2]     bf16, pairs of dimensions
//         values [n_blocks][8 pairs][head_dim][2 tokens]  bf16, pairs of tokens
//   q8    keys   [n_blocks]{[n][16 tokens][2] bf16, [head_dim/4][16 tokens][4] u8}
//         values [n_blocks]{[n][16 tokens] f32, [4 quads][head_dim][4 tokens] i8}
//         n = kv_scale_words(head_dim)
//   q4    keys   [n_blocks]{[head_dim][2] bf16, [head_dim/8][16 tokens][8] u4}
//         values [n_blocks]{[head_dim/16][16 tokens][2] bf16, [2 octets][head_dim][8 tokens] u4}
//
// The pairs are what AMX tiles and AVX512_BF16 multiply; other instruction
// sets split a pair with one shift and one mask. The quads are what integer
// dot products multiply (docs/adr/0011-q8-states.md; what the CPU packs
// of keys and values is evened out first, docs/adr/0050-keys-without-outliers.md): a token's
// scales, then its codes, -127 to 127, those of keys plus 128; a number is scale * code. A key has
// a scale for each kKvScaleDims dimensions, two a word; a value has one, in the
// first row of words, and the others are zero: both kinds of block are equally long.
// Rows past the end of a run in its last block are zero, scales and codes. Keys are
// stored rotated at module-local positions (docs/adr/0001-positions.md).
//
// q4 is for modules alone (fresh_type()). The eight codes of a word begin with its lowest bits. A
// pair of bf16 is a step and a least number, and a code c stands for c * step + least: each
// dimension of a block's 16 keys has a pair, and each kQ4ValueDims dimensions of a value
// (runtime/cpu/states/kv_q4.h, docs/adr/0026-q4-states.md). Of keys behind the end of a run only
// the codes are zero.
//
// A KvSegment borrows. What keeps the bytes alive is a ModuleHandle (a mapped
// file) or a timeline's page; both outlive the step that reads the view.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace pc {

// Stored in files: append only.
enum class KvType : std::uint32_t { kF32 = 1, kBf16 = 2, kQ8 = 3, kQ4 = 4 };

constexpr bool kv_type_known(KvType type) {
  return type >= KvType::kF32 && type <= KvType::kQ4;
}

constexpr const char* kv_type_name(KvType type) {
  return type == KvType::kF32    ? "f32"
         : type == KvType::kBf16 ? "bf16"
         : type == KvType::kQ8   ? "q8"
                                 : "q4";
}

// The type in which computed tokens are kept, where modules are stored as `stored`.
constexpr KvType fresh_type(KvType stored) {
  return stored == KvType::kQ4 ? KvType::kBf16 : stored;
}

// Blocks are made of words of four bytes; kv_word_elements() is how many elements a word holds.
inline constexpr std::size_t kKvWordBytes = 4;
constexpr std::uint32_t kv_word_elements(KvType type) {
  return type == KvType::kF32 ? 1 : type == KvType::kBf16 ? 2 : type == KvType::kQ8 ? 4 : 8;
}

// One AVX-512 register of f32 lanes, and the columns of an AMX tile.
inline constexpr std::uint32_t kKvBlockTokens = 16;

// Dimensions of a q8 key that share a scale, and of a q4 value that share a step.
inline constexpr std::uint32_t kKvScaleDims = 32, kQ4ValueDims = 16;

// What head_dim must be a multiple of: quads of dimensions come out even, and groups.
constexpr std::uint32_t kv_type_unit(KvType type) {
  return type == KvType::kQ8 ? 4 : type == KvType::kQ4 ? kQ4ValueDims : 1;
}
constexpr bool kv_type_fits(KvType type, std::uint32_t head_dim) {
  return head_dim % kv_type_unit(type) == 0;
}

// Words of scales for each token that a block of q8 begins with: two scales of keys a word.
constexpr std::uint32_t kv_scale_words(std::uint32_t head_dim) {
  return (head_dim + 2 * kKvScaleDims - 1) / (2 * kKvScaleDims);
}

// Version of the packing above; part of every module's key. q8 had one scale a key in 1,
// and keys and values as they come in 2 (docs/adr/0050-keys-without-outliers.md).
constexpr std::uint32_t kv_layout_version(KvType type) {
  return type == KvType::kQ8 ? 3 : 1;
}

constexpr std::uint32_t kv_blocks(std::uint32_t n_tokens) {
  return (n_tokens + kKvBlockTokens - 1) / kKvBlockTokens;
}

struct KvGeometry {
  std::uint32_t n_layers = 0;
  std::uint32_t n_kv_heads = 0;
  std::uint32_t head_dim = 0;  // even, and a multiple of kv_type_unit(type)
  KvType type = KvType::kF32;

  // Far above any model: GPT-3 has 96 layers, 96 heads of 128.
  static constexpr std::uint32_t kMaxLayers = 4096, kMaxKvHeads = 4096, kMaxHeadDim = 4096;

  friend bool operator==(const KvGeometry&, const KvGeometry&) = default;

  // Bytes of the scales that a block begins with.
  constexpr std::size_t scale_bytes() const {
    if (type == KvType::kQ4) return 4 * std::size_t{head_dim};
    if (type != KvType::kQ8) return 0;
    return std::size_t{kv_scale_words(head_dim)} * kKvBlockTokens * kKvWordBytes;
  }
  // Bytes of one block of keys (or of values) of one layer and head.
  constexpr std::size_t block_bytes() const {
    return scale_bytes() +
           std::size_t{kKvBlockTokens} * head_dim / kv_word_elements(type) * kKvWordBytes;
  }
  // Bytes of all layers, heads, keys and values of n_blocks blocks.
  constexpr std::size_t state_bytes(std::uint64_t n_blocks) const {
    return 2 * std::size_t{n_layers} * n_kv_heads * block_bytes() * n_blocks;
  }
};

// Could there be states of this geometry? kInvalidArgument where a count is zero or over
// its limit, or the type is unknown or does not fit head_dim.
Status check_geometry(const KvGeometry& geometry);

// A run of rows that is contiguous in memory and in position. Planes: for
// each layer, for each kv head: keys, then values at value_offset_bytes.
struct KvSegment {
  const std::byte* data = nullptr;  // block 0 of layer 0, kv head 0, keys
  std::size_t layer_stride_bytes = 0;
  std::size_t head_stride_bytes = 0;
  std::size_t value_offset_bytes = 0;  // from a plane of keys to its plane of values
  KvType type = KvType::kF32;
  std::uint32_t begin = 0;  // first row of the segment, counted from block 0
  std::uint32_t n_tokens = 0;
  std::int32_t position = 0;      // logical position of row `begin`
  std::int32_t key_position = 0;  // position at which that row's key was rotated
  // Null, or a word for each row from block 0 to the last block's end: all ones where no query sees
  // the row, else 0.
  const std::uint32_t* hidden = nullptr;
  // Null, or [n_tokens] the rows' logical positions, increasing, where they have gaps; keys are
  // rotated alike.
  const std::int32_t* positions = nullptr;
};

// Where K and V of a run are written: KvSegment's planes.
struct KvPlanes {
  std::byte* data = nullptr;  // block 0 of layer 0, kv head 0, keys
  std::size_t layer_stride_bytes = 0;
  std::size_t head_stride_bytes = 0;
  std::size_t value_offset_bytes = 0;  // from a plane of keys to its plane of values
  std::uint32_t n_tokens = 0;          // for which there is room

  // The same planes from block `block` on.
  KvPlanes from_block(std::uint32_t block, const KvGeometry& geometry) const {
    return {data + block * geometry.block_bytes(), layer_stride_bytes, head_stride_bytes,
            value_offset_bytes, n_tokens};
  }
};

// Planes of n_blocks blocks one after the other, [n_layers][n_kv_heads]{keys, values}, at `data`.
constexpr KvPlanes dense_planes(std::byte* data, const KvGeometry& geometry,
                                std::uint64_t n_blocks) {
  const std::size_t plane = n_blocks * geometry.block_bytes();
  return {data, 2 * plane * geometry.n_kv_heads, 2 * plane, plane,
          static_cast<std::uint32_t>(n_blocks * kKvBlockTokens)};
}

// Zeros the rows from n_rows on of the first block of all planes, scales included.
// n_rows < kKvBlockTokens.
void clear_rows(const KvPlanes& planes, const KvGeometry& geometry, std::uint32_t n_rows);

// The first n_blocks blocks of all planes.
void copy_blocks(const KvPlanes& from, const KvPlanes& to, const KvGeometry& geometry,
                 std::uint32_t n_blocks);

}  // namespace pc
