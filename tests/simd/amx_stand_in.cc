// The source of simd/packed/packed_amx.cc over the stand-in's tiles, its vectors in
// SIMDe's portable C: it runs on any CPU.

#include "tests/simd/amx_stand_in.h"

#include <immintrin.h>

#include "simd/packed/amx_rows.h"
#include "simd/packed/packed.h"
#include "simd/packed_kernels.h"

namespace pc::simd {
namespace {
using Tiles = stand_in::Tiles;
}
}  // namespace pc::simd

#include "simd/packed/packed_amx-inl.h"

namespace pc::simd {

extern const AmxKernels kAmxStandIn;
const AmxKernels kAmxStandIn = {tile_row, matmul_codes, matmul_few, matmul_many};

}  // namespace pc::simd
