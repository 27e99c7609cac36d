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
// A layer's heads may have another number and size than the next one's
// (docs/adr/0053-layers-of-several-shapes.md). Layers that read the states of another have none.
//
// A KvSegment borrows its bytes and its geometry. What keeps them alive is a ModuleHandle (a mapped
// file) or a timeline's page; both outlive the step that reads the view.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

// How the rows of one K/V head lie in blocks.
struct KvHead {
  KvType type = KvType::kF32;
  std::uint32_t dims = 0;  // even, and a multiple of kv_type_unit(type)

  // Bytes of the scales that a block begins with.
  constexpr std::size_t scale_bytes() const {
    if (type == KvType::kQ4) return 4 * std::size_t{dims};
    if (type != KvType::kQ8) return 0;
    return std::size_t{kv_scale_words(dims)} * kKvBlockTokens * kKvWordBytes;
  }
  // Bytes of one block of keys (or of values).
  constexpr std::size_t block_bytes() const {
    return scale_bytes() +
           std::size_t{kKvBlockTokens} * dims / kv_word_elements(type) * kKvWordBytes;
  }
};

// What one layer keeps of each token: keys and values of n_kv_heads heads. Stored in files.
struct KvLayer {
  std::uint32_t n_kv_heads = 0;
  std::uint32_t head_dim = 0;  // of keys and of values

  friend bool operator==(const KvLayer&, const KvLayer&) = default;
};
static_assert(sizeof(KvLayer) == 8);

// The layers of a model that keep states, each of its own shape, and the type of their numbers.
class KvGeometry {
 public:
  KvGeometry() = default;
  KvGeometry(std::vector<KvLayer> layers, KvType type);
  // Layers that are all alike.
  KvGeometry(std::uint32_t n_layers, std::uint32_t n_kv_heads, std::uint32_t head_dim,
             KvType type = KvType::kF32);

  // Far above any model: GPT-3 has 96 layers, 96 heads of 128.
  static constexpr std::uint32_t kMaxLayers = 4096, kMaxKvHeads = 4096, kMaxHeadDim = 4096;

  // The same layers with numbers of another type.
  KvGeometry of_type(KvType type) const { return {layers_, type}; }

  KvType type() const { return type_; }
  std::uint32_t n_layers() const { return static_cast<std::uint32_t>(layers_.size()); }
  std::span<const KvLayer> layers() const { return layers_; }
  std::uint32_t n_kv_heads(std::uint32_t layer) const { return layers_[layer].n_kv_heads; }
  KvHead head(std::uint32_t layer) const { return {type_, layers_[layer].head_dim}; }

  // Bytes of all layers, heads, keys and values of n_blocks blocks, which is also where a layer
  // would begin behind the last.
  std::size_t state_bytes(std::uint64_t n_blocks) const {
    return layer_offset(n_layers(), n_blocks);
  }
  // Where a layer begins in planes of n_blocks blocks.
  std::size_t layer_offset(std::uint32_t layer, std::uint64_t n_blocks) const {
    return offsets_[layer] * n_blocks;
  }

  friend bool operator==(const KvGeometry&, const KvGeometry&) = default;

 private:
  std::vector<KvLayer> layers_;
  KvType type_ = KvType::kF32;
  std::vector<std::size_t> offsets_{0};  // [n_layers + 1] of layers, where planes have one block
};

// Could there be states of this geometry? kInvalidArgument where a count is zero or over
// its limit, or the type is unknown or does not fit a head.
Status check_geometry(const KvGeometry& geometry);

// Planes one behind the other: for each layer, for each kv head, keys and then values, each of
// plane_blocks blocks. Whoever has a part of them begins at first_block of each.
template <class Byte>
struct KvPlanesOf {
  Byte* data = nullptr;  // of the first layer
  const KvGeometry* geometry = nullptr;
  std::uint32_t plane_blocks = 0;
  std::uint32_t first_block = 0;

  std::size_t plane_bytes(std::uint32_t layer) const {
    return plane_blocks * geometry->head(layer).block_bytes();
  }
  // From first_block on.
  Byte* keys(std::uint32_t layer, std::uint32_t kv_head) const {
    const std::size_t block_bytes = geometry->head(layer).block_bytes();
    return data + geometry->layer_offset(layer, plane_blocks) +
           (2 * std::size_t{kv_head} * plane_blocks + first_block) * block_bytes;
  }
  Byte* values(std::uint32_t layer, std::uint32_t kv_head) const {
    return keys(layer, kv_head) + plane_bytes(layer);
  }
};

// A run of rows that is contiguous in memory and in position.
struct KvSegment : KvPlanesOf<const std::byte> {
  std::uint32_t begin = 0;  // first row of the segment, counted from block 0, which is first_block
  std::uint32_t n_tokens = 0;
  std::int32_t position = 0;      // logical position of row `begin`
  std::int32_t key_position = 0;  // position at which that row's key was rotated
  // Null, or a word for each row from block 0 to the last block's end: all ones where no query sees
  // the row, else 0.
  const std::uint32_t* hidden = nullptr;
  // Null, or [n_tokens] the rows' logical positions, increasing, where they have gaps; keys are
  // rotated alike.
  const std::int32_t* positions = nullptr;

  KvType type() const { return geometry->type(); }
};

// Where K and V of a run are written.
struct KvPlanes : KvPlanesOf<std::byte> {
  std::uint32_t n_tokens = 0;  // for which there is room

  // The same planes from block `block` on.
  KvPlanes from_block(std::uint32_t block) const {
    KvPlanes from = *this;
    from.first_block += block;
    return from;
  }
};

// n_blocks blocks of planes at `data`. `geometry` is borrowed.
inline KvPlanes dense_planes(std::byte* data, const KvGeometry& geometry, std::uint32_t n_blocks) {
  return {{data, &geometry, n_blocks, 0}, n_blocks * kKvBlockTokens};
}

// Zeros the rows from n_rows on of the first block of all planes, scales included.
// n_rows < kKvBlockTokens.
void clear_rows(const KvPlanes& planes, std::uint32_t n_rows);

// The first n_blocks blocks of all planes, which are of one geometry.
void copy_blocks(const KvPlanes& from, const KvPlanes& to, std::uint32_t n_blocks);

}  // namespace pc
