// Products of many rows on AMX's tiles of bf16, with weights widened by AVX-512.
// Compiled with its instruction set; all but the entries has internal linkage.

#include <cpuid.h>
#include <immintrin.h>

#include "simd/amx_tiles.h"
#include "simd/packed/amx_rows.h"
#include "simd/packed/packed.h"
#include "simd/packed_kernels.h"

namespace pc::simd {
namespace {
using Tiles = AmxTiles;
}
}  // namespace pc::simd

#include "simd/packed/packed_amx-inl.h"

namespace pc::simd {

const AmxKernels kAmxKernels = {tile_row, matmul_codes, matmul_few, matmul_many};

namespace {

// Linux keeps the 8 KiB of tiles from processes that did not ask; the leave is for
// all threads. By the instruction: the C library has no function for it.
bool linux_grants_tiles() {
#if defined(__linux__) && defined(__LP64__)
  constexpr long kArchPrctl = 158, kAskForState = 0x1023, kTileData = 18;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(kArchPrctl), "D"(kAskForState), "S"(kTileData)
               : "rcx", "r11", "memory");
  return result == 0;
#else
  return false;
#endif
}

}  // namespace

bool amx_available() {
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;
  return (d & (kBf16 | kTile)) == (kBf16 | kTile) && linux_grants_tiles();
}

}  // namespace pc::simd
