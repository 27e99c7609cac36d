// Packing: one token's key and value into their places in a block (modules/kv.h).
//
// To bf16 numbers are rounded to nearest even. To q8 with the scale max |x| / 127 of
// the value, or of each kKvScaleDims dimensions of the key (there rounded up to bf16),
// codes to the nearest: no number is off by more than half a scale. Numbers whose scale
// would be that of less than 2^-100 count as zeros. Where a number of either is not finite
// the key's scales become NaN, and the codes with it zeros: a broken state breaks what
// sees it, and nothing that does not. Blocks of q4 are written whole (runtime/cpu/states/kv_q4.h).
//
// Threads: pure; different tokens of a block may be written at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "modules/kv.h"

namespace pc {

// key, value: [head.dims]. token < kKvBlockTokens. Blocks: head.block_bytes(); not of q4.
void write_kv_row(KvHead head, std::uint32_t token, const float* key, const float* value,
                  std::byte* key_block, std::byte* value_block);

// Unpacks the values of the token in row segment.begin + token, in one layer of the states.
// values: [n_kv_heads, head_dim].
void read_kv_values(const KvSegment& segment, std::uint32_t token, std::uint32_t layer,
                    float* values);

// Unpacks the key of one head of that token; it stays rotated. key: [head_dim].
void read_kv_key(const KvSegment& segment, std::uint32_t token, std::uint32_t layer,
                 std::uint32_t head, float* key);

// Packs the first n_tokens rows of a segment again, as the planes' type, whose rows are all zeros.
// Keys stay rotated. Precondition: segment.begin is 0.
void repack_rows(const KvSegment& segment, std::uint32_t n_tokens, const KvPlanes& planes);

}  // namespace pc
