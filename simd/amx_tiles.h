// AMX's tile registers: the primitives of amx_block-inl.h, an instruction each.
//
// All eight tiles have 16 rows of 64 bytes, or those of configure_half(). Between that and
// release() the thread must have been allowed their use (amx_available in packed_kernels.h).
// Assembly rather than intrinsics: GCC 12's _tile_loadconfig declares 8 of the
// 64 bytes that it reads, and its others take no template argument.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pc::simd {
namespace {

struct AmxTiles {
  static void configure() { configure_as({}); }

  // For products of half the depth, 16 columns of bf16: right operands in tiles 0 to 3, of 8 rows,
  // left ones in 4 and 5, of 32 bytes a row.
  static void configure_half() {
    configure_as(
        {.row_bytes = {64, 64, 64, 64, 32, 32, 64, 64}, .rows = {8, 8, 8, 8, 16, 16, 16, 16}});
  }

  static void release() { asm volatile("tilerelease"); }

  template <int kTile>
  static void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
  }

  // 16 rows of 64 bytes, `stride` bytes apart.
  template <int kTile>
  static void load(const void* p, std::size_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(p), "r"(stride), "i"(kTile) : "memory");
  }

  template <int kTile>
  static void store(void* p, std::size_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(p), "r"(stride), "i"(kTile) : "memory");
  }

  // sum f32 [16 rows][16] += a bf16 [16 rows][16][2] * b bf16 [16][16 columns][2].
  template <int kSum, int kA, int kB>
  static void dot_bf16() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kA), "i"(kB));
  }

 private:
  struct alignas(64) Config {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  static_assert(sizeof(Config) == 64);

  static void configure_as(const Config& config) { asm volatile("ldtilecfg %0" ::"m"(config)); }
};

}  // namespace
}  // namespace pc::simd
