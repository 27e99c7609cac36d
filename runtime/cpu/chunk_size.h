// How many fresh tokens one sweep over a model's layers computes.
//
// Enough rows to make matrix products compute-bound; few enough that the widest
// activations of a layer, a gate and its input's other half, stay in the last cache
// between the products that write and read them. Scratch grows with it, not with the
// prompt. docs/SPEED.md says how little it matters where it was measured.
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace pc {

inline constexpr std::uint32_t kMostChunkTokens = 256, kLeastChunkTokens = 64;

// row_bytes: of a token's widest activations. cache_bytes: 0 where it is unknown. The
// most tokens, halved until their rows fit, but no fewer than the least.
std::uint32_t chunk_tokens(std::size_t row_bytes, std::size_t cache_bytes);

// Bytes of the first CPU's last cache; 0 where the kernel does not say. `root` stands
// before /sys: "", or where a test keeps its own.
std::size_t last_cache_bytes(const std::string& root);

}  // namespace pc
