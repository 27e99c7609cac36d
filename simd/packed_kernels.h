// Products from packed weights, an object an instruction set, and attention on what
// Highway lacks: hwy_kernels.cc's tables get those that this CPU has (select.cc). Pure
// functions.
#pragma once

#include "simd/kernels.h"

namespace pc::simd {

void matmul_packed_scalar(const PackedMatmulArgs& args);
void quantise_scalar(const QuantiseArgs& args);

#if defined(__x86_64__)
void matmul_packed_avx2(const PackedMatmulArgs& args);  // AVX2, FMA, F16C
void matmul_packed_vnni(const PackedMatmulArgs& args);  // AVX-512 F, BW and VNNI

// Where the CPU has AMX for bf16 and AVX-512 BW; attention: and BF16 and VNNI.
extern const AmxKernels kAmxKernels;
void attend_amx(const AttendArgs& args);
// The CPU has the tiles, and Linux grants this process their use: asked for here.
bool amx_available();
#elif defined(__aarch64__)
void matmul_packed_neon(const PackedMatmulArgs& args);
void matmul_packed_neon_dot(const PackedMatmulArgs& args);   // FEAT_DotProd
void matmul_packed_neon_i8mm(const PackedMatmulArgs& args);  // FEAT_I8MM and FEAT_DotProd
void attend_neon_dot(const AttendArgs& args);                // FEAT_DotProd
void attend_neon_bf16(const AttendArgs& args);               // FEAT_BF16 and FEAT_DotProd
#endif

}  // namespace pc::simd
