#include "modules/kv.h"

#include <cstring>
#include <string>
#include <utility>

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
void clear_key_rows(std::byte* block, KvHead head, std::uint32_t n_rows) {
  const std::size_t shared = head.type == KvType::kQ4 ? head.scale_bytes() : 0;
  clear_words(block + shared, block + head.block_bytes(), n_rows);
}

// What a word of values holds of the first n of its tokens, not all. Little-endian, as files are.
constexpr std::uint32_t first_tokens_of_word(KvType type, std::uint32_t n) {
  return (1u << 32 / kv_word_elements(type) * n) - 1;
}

// In values a word holds one dimension of 1, 2, 4 or 8 neighbours: [words of tokens][head_dim].
void clear_value_rows(std::byte* block, KvHead head, std::uint32_t n_rows) {
  const std::uint32_t a_word = kv_word_elements(head.type), used = n_rows % a_word;
  clear_words(block, block + head.scale_bytes(), n_rows);
  std::byte* row = block + head.scale_bytes() + n_rows / a_word * head.dims * kKvWordBytes;
  std::byte* end = block + head.block_bytes();
  if (used != 0) {  // tokens that are there share words with the first that are not
    const std::uint32_t kept = first_tokens_of_word(head.type, used);
    for (std::uint32_t d = 0; d < head.dims; ++d, row += kKvWordBytes) {
      std::uint32_t word;
      std::memcpy(&word, row, sizeof word);
      word &= kept;
      std::memcpy(row, &word, sizeof word);
    }
  }
  std::memset(row, 0, static_cast<std::size_t>(end - row));
}

}  // namespace

KvGeometry::KvGeometry(std::vector<KvLayer> layers, KvType type)
    : layers_(std::move(layers)), type_(type) {
  offsets_.reserve(layers_.size() + 1);
  for (std::uint32_t i = 0; i < n_layers(); ++i)
    offsets_.push_back(offsets_.back() + 2 * std::size_t{n_kv_heads(i)} * head(i).block_bytes());
}

KvGeometry::KvGeometry(std::uint32_t n_layers, std::uint32_t n_kv_heads, std::uint32_t head_dim,
                       KvType type)
    : KvGeometry(std::vector<KvLayer>(n_layers, {n_kv_heads, head_dim}), type) {}

Status check_geometry(const KvGeometry& geometry) {
  PC_CHECK_OK(check_count("n_layers", geometry.n_layers(), KvGeometry::kMaxLayers));
  if (!kv_type_known(geometry.type())) return refused("unknown type of K and V");
  for (const KvLayer& layer : geometry.layers()) {
    PC_CHECK_OK(check_count("n_kv_heads", layer.n_kv_heads, KvGeometry::kMaxKvHeads));
    PC_CHECK_OK(check_count("head_dim", layer.head_dim, KvGeometry::kMaxHeadDim));
    if (layer.head_dim % 2 != 0) return refused("head_dim is odd");
    if (!kv_type_fits(geometry.type(), layer.head_dim))
      return refused(std::string(kv_type_name(geometry.type())) +
                     " wants a head_dim that is a multiple of " +
                     std::to_string(kv_type_unit(geometry.type())));
  }
  return ok();
}

void clear_rows(const KvPlanes& planes, std::uint32_t n_rows) {
  for (std::uint32_t layer = 0; layer < planes.geometry->n_layers(); ++layer) {
    const KvHead head = planes.geometry->head(layer);
    for (std::uint32_t h = 0; h < planes.geometry->n_kv_heads(layer); ++h) {
      clear_key_rows(planes.keys(layer, h), head, n_rows);
      clear_value_rows(planes.values(layer, h), head, n_rows);
    }
  }
}

void copy_blocks(const KvPlanes& from, const KvPlanes& to, std::uint32_t n_blocks) {
  for (std::uint32_t layer = 0; layer < from.geometry->n_layers(); ++layer) {
    const std::size_t n_bytes = n_blocks * from.geometry->head(layer).block_bytes();
    for (std::uint32_t head = 0; head < from.geometry->n_kv_heads(layer); ++head) {
      std::memcpy(to.keys(layer, head), from.keys(layer, head), n_bytes);
      std::memcpy(to.values(layer, head), from.values(layer, head), n_bytes);
    }
  }
}

}  // namespace pc
