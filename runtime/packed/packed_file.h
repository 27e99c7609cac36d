// The file of packed weights: one header, two tables, one payload.
// docs/PACKED_FORMAT.md has the byte diagram; packed_writer.cc writes it.
//
//   PackedHeader                    192 bytes
//   matrices   PackedMatrix[n]      shapes and types, in the order of the payload
//   checksums  u64[n_chunks]        checksum64 of each chunk of the payload
//   zeros                           to the next multiple of 4 KiB
//   payload                         each matrix as simd/packed/packed.h lays it out
//
// A chunk is as many whole panels of one matrix as fit in 256 KiB, but one at
// least. No offset is stored: every place follows from the shapes, by checked
// arithmetic, and must add up to the size of the file. The seal covers all
// bytes before the payload, the checksums all bytes after.
//
// Threads: pure functions and const views, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/hash.h"
#include "base/status.h"

namespace pc {

// Like a module's: a byte above 127 and both line ends show a transfer as text.
inline constexpr std::array<std::uint8_t, 8> kPackedMagic = {0x89, 'P',  'C',  'W',
                                                             '\r', '\n', 0x1a, '\n'};
inline constexpr std::uint32_t kPackedEndianTag = 0x01020304;
inline constexpr std::uint32_t kPackedFileVersion = 1;  // readers accept exactly this

inline constexpr std::uint64_t kPackedPayloadAlign = 4096;
inline constexpr std::uint64_t kPackedChunkBytes = 256 * 1024;
// Far above any model's (7 and one a layer), so that a hostile header asks for little.
inline constexpr std::uint32_t kMaxPackedMatrices = 1u << 16;
// A panel of 16 rows stays below 2^29 bytes, so that 64 bits hold any sum of matrices.
inline constexpr std::uint32_t kMaxPackedSide = 1u << 24;

struct PackedMatrix {
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;
  std::uint32_t type = 0;  // simd::Type, one that simd::packs()
  std::uint32_t zero = 0;

  friend bool operator==(const PackedMatrix&, const PackedMatrix&) = default;
};
static_assert(sizeof(PackedMatrix) == 16);

struct PackedHeader {
  std::array<std::uint8_t, 8> magic{};  //   0
  std::uint32_t endian = 0;             //   8  kPackedEndianTag
  std::uint32_t version = 0;            //  12  kPackedFileVersion
  std::uint32_t header_bytes = 0;       //  16  sizeof(PackedHeader)
  std::uint32_t pack_version = 0;       //  20  simd::kPackVersion
  std::uint32_t n_matrices = 0;         //  24
  std::uint32_t zero = 0;               //  28
  std::uint64_t n_chunks = 0;           //  32
  std::uint64_t payload_bytes = 0;      //  40
  std::uint64_t file_bytes = 0;         //  48  must be the size of the file
  Digest key{};                         //  56  packed_key(); also the file's name
  Digest weights{};                     //  88  digest of the model's weights
  std::array<std::uint8_t, 40> pad{};   // 120  zeros
  Digest seal{};                        // 160  packed_seal()
};
static_assert(sizeof(PackedHeader) == 192 && offsetof(PackedHeader, key) == 56);
static_assert(offsetof(PackedHeader, weights) == 88 && offsetof(PackedHeader, seal) == 160);
static_assert(std::is_trivially_copyable_v<PackedHeader>);

// Whole panels of one matrix, with one checksum.
struct PackedChunk {
  std::uint32_t matrix;
  std::uint64_t first_panel, n_panels;
  std::uint64_t offset, bytes;  // in the payload
};

// What follows from the shapes. Offsets of matrices count in the payload, the
// others from the start of the file.
struct PackedExtent {
  std::uint64_t checksums = 0;
  std::uint64_t tables_end = 0;
  std::uint64_t payload = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t largest_chunk = 0;      // in bytes
  std::vector<std::uint64_t> matrices;  // [n] offsets, multiples of 64
  std::vector<PackedChunk> chunks;
};

// kCorrupt where a shape cannot be packed or is over a limit.
Result<PackedExtent> packed_extent(std::span<const PackedMatrix> matrices,
                                   std::uint64_t most_bytes);

// Over the versions, the weights' digest and the shapes: every cause of the payload.
Digest packed_key(const Digest& weights, std::span<const PackedMatrix> matrices);

// Over everything before the payload, with the seal itself taken as zeros.
// Precondition: head.size() >= sizeof(PackedHeader).
Digest packed_seal(std::span<const std::byte> head);

// A file's bytes, of which nothing was believed: a view of them.
class PackedFile {
 public:
  // Checks everything but the payload's checksums. Errors: kUnsupported
  // (another version or byte order), kCorrupt.
  static Result<PackedFile> open(std::span<const std::byte> bytes);

  const PackedHeader& header() const { return header_; }
  const PackedExtent& extent() const { return extent_; }
  std::span<const PackedMatrix> matrices() const { return matrices_; }
  const std::byte* matrix(std::size_t index) const;  // on 64 bytes where the file's first byte is

  // Is this the chunk that was written? Precondition: bytes.size() is the chunk's.
  bool chunk_is_sound(std::size_t chunk, std::span<const std::byte> bytes) const;

 private:
  std::span<const std::byte> bytes_;
  PackedHeader header_;
  std::vector<PackedMatrix> matrices_;
  PackedExtent extent_;
};

}  // namespace pc
