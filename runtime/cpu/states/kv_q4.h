// States in 4 bits: the codec of KvType::kQ4 (modules/kv.h; docs/adr/0026-q4-states.md), after KIVI
// (arXiv 2402.02750): keys have steps for each dimension, since trained models' keys have
// dimensions that stand far above the others for all tokens, and values for each token.
//
// The numbers of a group (a dimension of a block's keys, kQ4ValueDims numbers of a value) are kept
// as the nearest of sixteen, in even steps from the least of them to the largest. Both ends are
// exact but for the rounding of a step to bf16: the largest numbers of keys are those that draw
// attention. Where a number is not finite, or the range is none that a float has, the step is NaN,
// which shows in whatever sees the group.
//
// Pure. Threads: any, for different blocks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pc {

// n_rows tokens' keys and values, bf16 numbers, as a block of each; rows behind them are zeros.
// keys, values: [n_rows, head_dim], head_dim a multiple of kQ4ValueDims; 0 < n_rows <=
// kKvBlockTokens.
void write_q4_block(std::uint32_t head_dim, std::uint32_t n_rows, const float* keys,
                    const float* values, std::byte* key_block, std::byte* value_block);

// What is stored of a token.
void read_q4_key(std::uint32_t head_dim, std::uint32_t token, const std::byte* block, float* key);
void read_q4_value(std::uint32_t head_dim, std::uint32_t token, const std::byte* block,
                   float* value);

}  // namespace pc
