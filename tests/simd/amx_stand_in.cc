// The source of simd/packed_amx.cc over the stand-in's tiles, its vectors in
// SIMDe's portable C: it runs on any CPU.

#include "tests/simd/amx_stand_in.h"

#include <immintrin.h>

#include "simd/amx_rows.h"
#include "simd/packed.h"
#include "simd/packed_kernels.h"

namespace pc::simd {
namespace {

struct Tiles {
  static void configure() {
    unsigned char config[64] = {1};
    for (int t = 0; t < 8; ++t) {
      config[16 + 2 * t] = 64;
      config[48 + t] = 16;
    }
    stand_in::configure(config);
  }
  static void release() { stand_in::release(); }
  template <int kTile>
  static void zero() {
    stand_in::zero(kTile);
  }
  template <int kTile>
  static void load(const void* p, std::size_t stride) {
    stand_in::load(kTile, p, stride);
  }
  template <int kTile>
  static void store(void* p, std::size_t stride) {
    stand_in::store(kTile, p, stride);
  }
  template <int kSum, int kA, int kB>
  static void dot_bf16() {
    stand_in::dot_bf16(kSum, kA, kB);
  }
};

}  // namespace
}  // namespace pc::simd

#include "simd/packed_amx-inl.h"

namespace pc::simd {

extern const AmxKernels kAmxStandIn;
const AmxKernels kAmxStandIn = {tile_row, matmul_tiles};

}  // namespace pc::simd
