#include "runtime/packed/packed_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "base/bytes.h"
#include "simd/packed/packed.h"

namespace pc {
namespace {

Error damaged(const std::string& what) {
  return error(Code::kCorrupt, "damaged file of packed weights: " + what);
}

bool can_be_packed(const PackedMatrix& m) {
  if (m.type == 0 || m.type >= simd::kTypeShapes.size() || m.zero != 0) return false;
  const auto type = static_cast<simd::Type>(m.type);
  return simd::packs(type) && m.rows != 0 && m.rows <= kMaxPackedSide && m.cols != 0 &&
         m.cols <= kMaxPackedSide && m.cols % simd::shape_of(type).elements == 0;
}

template <class T>
T load(std::span<const std::byte> bytes, std::uint64_t offset) {
  return load_le<T>(bytes, static_cast<std::size_t>(offset));
}

bool is_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

Status check_header(const PackedHeader& h, std::size_t size) {
  if (h.magic != kPackedMagic) return damaged("its first bytes are wrong");
  if (h.endian != kPackedEndianTag || h.version != kPackedFileVersion ||
      h.pack_version != simd::kPackVersion) {
    return error(Code::kUnsupported, "a file of packed weights of another version");
  }
  if (h.header_bytes != sizeof h || h.zero != 0) return damaged("its header is wrong");
  if (!is_zero(std::as_bytes(std::span(h.pad)))) return damaged("reserved bytes are set");
  if (h.file_bytes != size) return damaged("its size is not the one that it names");
  if (h.n_matrices == 0 || h.n_matrices > kMaxPackedMatrices ||
      h.n_matrices > (size - sizeof h) / sizeof(PackedMatrix)) {
    return damaged("it is too small for its table");
  }
  return ok();
}

}  // namespace

Result<PackedExtent> packed_extent(std::span<const PackedMatrix> matrices,
                                   std::uint64_t most_bytes) {
  PackedExtent extent;
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const PackedMatrix& m = matrices[i];
    if (!can_be_packed(m)) return damaged("a matrix that cannot be packed");
    const auto type = static_cast<simd::Type>(m.type);
    const std::uint64_t panel_bytes = simd::packed_panel_bytes(type, m.cols);
    const std::uint64_t n_panels = (m.rows - 1) / simd::kPanelRows + 1;
    const std::uint64_t bytes = n_panels * panel_bytes;  // below 2^49 by the limits
    if (bytes > most_bytes || extent.payload_bytes > most_bytes - bytes)
      return damaged("it is too small for its matrices");
    extent.matrices.push_back(extent.payload_bytes);
    const std::uint64_t step = std::max<std::uint64_t>(1, kPackedChunkBytes / panel_bytes);
    for (std::uint64_t panel = 0; panel < n_panels; panel += step) {
      const std::uint64_t n = std::min(step, n_panels - panel);
      extent.chunks.push_back({static_cast<std::uint32_t>(i), panel, n,
                               extent.payload_bytes + panel * panel_bytes, n * panel_bytes});
      extent.largest_chunk = std::max(extent.largest_chunk, n * panel_bytes);
    }
    extent.payload_bytes += bytes;
  }
  extent.checksums = sizeof(PackedHeader) + matrices.size() * sizeof(PackedMatrix);
  extent.tables_end = extent.checksums + extent.chunks.size() * sizeof(std::uint64_t);
  extent.payload = align_up(extent.tables_end, kPackedPayloadAlign);
  extent.file_bytes = extent.payload + extent.payload_bytes;
  return extent;
}

Digest packed_key(const Digest& weights, std::span<const PackedMatrix> matrices) {
  Sha256 hash;
  hash.field("promptcache packed weights").field(kPackedFileVersion).field(simd::kPackVersion);
  hash.field(std::as_bytes(std::span(weights)));
  for (const PackedMatrix& m : matrices) hash.field(m.rows).field(m.cols).field(m.type);
  return hash.finish();
}

Digest packed_seal(std::span<const std::byte> head) {
  PC_EXPECT(head.size() >= sizeof(PackedHeader));
  constexpr std::size_t kSeal = offsetof(PackedHeader, seal);
  const Digest zeros{};
  Sha256 hash;
  hash.update(head.first(kSeal)).update(std::as_bytes(std::span(zeros)));
  return hash.update(head.subspan(sizeof(PackedHeader))).finish();
}

Result<PackedFile> PackedFile::open(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(PackedHeader)) return damaged("it is shorter than its header");
  PackedFile file;
  file.bytes_ = bytes;
  file.header_ = load<PackedHeader>(bytes, 0);
  const PackedHeader& h = file.header_;
  PC_CHECK_OK(check_header(h, bytes.size()));
  for (std::uint32_t i = 0; i < h.n_matrices; ++i) {
    file.matrices_.push_back(
        load<PackedMatrix>(bytes, sizeof h + std::uint64_t{i} * sizeof(PackedMatrix)));
  }
  PC_TRY(file.extent_, packed_extent(file.matrices_, bytes.size()));
  const PackedExtent& extent = file.extent_;
  if (extent.chunks.size() != h.n_chunks || extent.payload_bytes != h.payload_bytes ||
      extent.file_bytes != h.file_bytes) {
    return damaged("its sizes do not add up");
  }
  const auto head = bytes.first(static_cast<std::size_t>(extent.payload));
  if (!is_zero(head.subspan(static_cast<std::size_t>(extent.tables_end))))
    return damaged("its padding is set");
  if (packed_seal(head) != h.seal) return damaged("its seal is broken");
  if (packed_key(h.weights, file.matrices_) != h.key) return damaged("its key is not its own");
  return file;
}

const std::byte* PackedFile::matrix(std::size_t index) const {
  return bytes_.data() + extent_.payload + extent_.matrices[index];
}

bool PackedFile::chunk_is_sound(std::size_t chunk, std::span<const std::byte> bytes) const {
  return checksum64(bytes) ==
         load<std::uint64_t>(bytes_, extent_.checksums + chunk * sizeof(std::uint64_t));
}

}  // namespace pc
