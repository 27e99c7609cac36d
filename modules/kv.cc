#include "modules/kv.h"

#include <cstring>
#include <string>

namespace pc {
namespace {

Error refused(const std::string& what) {
  return error(Code::kInvalidArgument, "module: " + what);
}

Status check_count(const char* name, std::uint32_t count, std::uint32_t most) {
  if (count != 0 && count <= most) return ok();
  return refused(std::string(name) + " is zero or over its limit");
}

// Words that belong to one token each: [words][16 tokens].
void clear_words(std::byte* begin, const std::byte* end, std::uint32_t n_rows) {
  const std::size_t row_of_words = kKvBlockTokens * kKvWordBytes;
  for (; begin != end; begin += row_of_words)
    std::memset(begin + n_rows * kKvWordBytes, 0, row_of_words - n_rows * kKvWordBytes);
}

// In keys every word belongs to one token, scales included but those of q4.
void clear_key_rows(std::byte* block, const KvGeometry& geometry, std::uint32_t n_rows) {
  const std::size_t shared = geometry.type == KvType::kQ4 ? geometry.scale_bytes() : 0;
  clear_words(block + shared, block + geometry.block_bytes(), n_rows);
}

// What a word of values holds of the first n of its tokens, not all. Little-endian, as files are.
constexpr std::uint32_t first_tokens_of_word(KvType type, std::uint32_t n) {
  return (1u << 32 / kv_word_elements(type) * n) - 1;
}

// In values a word holds one dimension of 1, 2, 4 or 8 neighbours: [words of tokens][head_dim].
void clear_value_rows(std::byte* block, const KvGeometry& geometry, std::uint32_t n_rows) {
  const std::uint32_t a_word = kv_word_elements(geometry.type), used = n_rows % a_word;
  clear_words(block, block + geometry.scale_bytes(), n_rows);
  std::byte* row =
      block + geometry.scale_bytes() + n_rows / a_word * geometry.head_dim * kKvWordBytes;
  std::byte* end = block + geometry.block_bytes();
  if (used != 0) {  // tokens that are there share words with the first that are not
    const std::uint32_t kept = first_tokens_of_word(geometry.type, used);
    for (std::uint32_t d = 0; d < geometry.head_dim; ++d, row += kKvWordBytes) {
      std::uint32_t word;
      std::memcpy(&word, row, sizeof word);
      word &= kept;
      std::memcpy(row, &word, sizeof word);
    }
  }
  std::memset(row, 0, static_cast<std::size_t>(end - row));
}

}  // namespace

Status check_geometry(const KvGeometry& geometry) {
  PC_CHECK_OK(check_count("n_layers", geometry.n_layers, KvGeometry::kMaxLayers));
  PC_CHECK_OK(check_count("n_kv_heads", geometry.n_kv_heads, KvGeometry::kMaxKvHeads));
  PC_CHECK_OK(check_count("head_dim", geometry.head_dim, KvGeometry::kMaxHeadDim));
  if (geometry.head_dim % 2 != 0) return refused("head_dim is odd");
  if (!kv_type_known(geometry.type)) return refused("unknown type of K and V");
  if (!kv_type_fits(geometry.type, geometry.head_dim))
    return refused(std::string(kv_type_name(geometry.type)) +
                   " wants a head_dim that is a multiple of " +
                   std::to_string(kv_type_unit(geometry.type)));
  return ok();
}

void clear_rows(const KvPlanes& planes, const KvGeometry& geometry, std::uint32_t n_rows) {
  for (std::uint32_t layer = 0; layer < geometry.n_layers; ++layer) {
    for (std::uint32_t head = 0; head < geometry.n_kv_heads; ++head) {
      std::byte* keys =
          planes.data + layer * planes.layer_stride_bytes + head * planes.head_stride_bytes;
      clear_key_rows(keys, geometry, n_rows);
      clear_value_rows(keys + planes.value_offset_bytes, geometry, n_rows);
    }
  }
}

void copy_blocks(const KvPlanes& from, const KvPlanes& to, const KvGeometry& geometry,
                 std::uint32_t n_blocks) {
  const std::size_t n_bytes = n_blocks * geometry.block_bytes();
  for (std::uint32_t layer = 0; layer < geometry.n_layers; ++layer) {
    for (std::uint32_t head = 0; head < geometry.n_kv_heads; ++head) {
      const std::byte* a =
          from.data + layer * from.layer_stride_bytes + head * from.head_stride_bytes;
      std::byte* b = to.data + layer * to.layer_stride_bytes + head * to.head_stride_bytes;
      std::memcpy(b, a, n_bytes);
      std::memcpy(b + to.value_offset_bytes, a + from.value_offset_bytes, n_bytes);
    }
  }
}

}  // namespace pc
