// The module file: one header, four tables, one payload. docs/MODULE_FORMAT.md
// has the byte diagram; module_file.cc reads it, module_image.cc writes it.
//
//   ModuleHeader                 512 bytes
//   layers     KvLayer[n_layers] the shape of each layer that keeps states
//   checksums  u64[n_chunks]     checksum64 of each 256 KiB of the payload
//   runs       ModuleRun[n_runs]
//   tokens     i32[n_tokens]     ids of the kept tokens, run after run
//   zeros                        to the next multiple of 4 KiB
//   payload                      K and V, as modules/kv.h packs them; where causes.n_recurrent is
//                                not 0 zeros to the next multiple of 64 bytes, and so many f32
//
// A file without recurrent states has version 3, one with them version 4.
//
// No offset is stored: every place follows from the counts, by arithmetic that
// cannot overflow unnoticed, and must add up to the size of the file. The seal
// covers all bytes before the payload, the checksums all bytes after. Tables
// stand in falling order of alignment, so each is read in place.
//
// Threads: pure functions and plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/hash.h"
#include "base/status.h"
#include "modules/kv.h"
#include "modules/module_key.h"

namespace pc {

// Like PNG's: a byte above 127 and both line ends show a transfer as text.
inline constexpr std::array<std::uint8_t, 8> kModuleMagic = {0x89, 'P',  'C',  'M',
                                                             '\r', '\n', 0x1a, '\n'};
inline constexpr std::uint32_t kModuleEndianTag = 0x01020304;
// Readers accept exactly the one that the causes ask for.
constexpr std::uint32_t module_version(std::uint32_t n_recurrent) {
  return n_recurrent == 0 ? 3 : 4;
}

// One page of most machines: the payload of a file mapped from its start
// begins on a page, and so on a cache line.
inline constexpr std::uint64_t kPayloadAlign = 4096;
// Half of a core's L2 cache or less: a chunk is read and summed while it is there.
inline constexpr std::uint64_t kChunkBytes = 256 * 1024;

// One kept run. Local positions strictly increase, runs do not overlap, and
// the first run is at 0. Every run starts on a block boundary.
struct ModuleRun {
  std::uint32_t n_tokens = 0;       // never 0
  std::int32_t local_position = 0;  // of its first token; its key was rotated there

  friend bool operator==(const ModuleRun&, const ModuleRun&) = default;
};
static_assert(sizeof(ModuleRun) == 8);

struct ModuleHeader {
  std::array<std::uint8_t, 8> magic{};   //   0
  std::uint32_t endian = 0;              //   8  kModuleEndianTag
  std::uint32_t version = 0;             //  12  module_version()
  std::uint32_t header_bytes = 0;        //  16  sizeof(ModuleHeader)
  std::uint32_t n_tokens = 0;            //  20  kept tokens
  std::uint32_t n_runs = 0;              //  24  kept runs
  std::uint32_t n_blocks = 0;            //  28  sum of kv_blocks(run.n_tokens)
  std::uint64_t n_chunks = 0;            //  32  of the payload
  std::uint64_t payload_bytes = 0;       //  40  ModuleExtent::payload_bytes
  std::uint64_t file_bytes = 0;          //  48  must be the size of the file
  ModuleKey key;                         //  56  key_of(causes); also the file's name
  ModuleCauses causes;                   //  88
  std::array<std::uint8_t, 112> zero{};  // 368  reserved
  Digest seal{};                         // 480  module_seal()
};
static_assert(sizeof(ModuleCauses) == 280 && offsetof(ModuleHeader, causes) == 88);
static_assert(sizeof(ModuleHeader) == 512 && offsetof(ModuleHeader, seal) == 480);
static_assert(std::is_trivially_copyable_v<ModuleHeader>);

// Where the parts of a file lie, in bytes from its start.
struct ModuleExtent {
  std::uint64_t n_chunks = 0;
  std::uint64_t layers = sizeof(ModuleHeader);
  std::uint64_t checksums = 0;
  std::uint64_t runs = 0;
  std::uint64_t tokens = 0;
  std::uint64_t tables_end = 0;
  std::uint64_t payload = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t recurrent = 0;  // in the payload, not in the file
  std::uint64_t file_bytes = 0;
};

// kInvalidArgument where a count is zero or over its limit, or the sizes overflow.
Result<ModuleExtent> module_extent(const KvGeometry& geometry, std::uint32_t n_tokens,
                                   std::uint32_t n_runs, std::uint32_t n_blocks,
                                   std::uint32_t n_recurrent);

// SHA-256 of everything before the payload, with the seal itself taken as
// zeros. Precondition: head.size() >= sizeof(ModuleHeader).
Digest module_seal(std::span<const std::byte> head);

// Bytes [begin, end) of the payload that checksum `chunk` covers.
struct ChunkRange {
  std::uint64_t begin, end;
};
constexpr ChunkRange chunk_range(std::uint64_t chunk, std::uint64_t payload_bytes) {
  const std::uint64_t begin = chunk * kChunkBytes;
  const std::uint64_t left = payload_bytes - begin;
  return {begin, begin + (left < kChunkBytes ? left : kChunkBytes)};
}

}  // namespace pc
