// What the lanes of a warp do together, as kernels call it.
//
// Called by kernels' threads alone.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda/standin/block.h"

namespace pc::cuda::standin {

// The value of lane `source`, bits that are no number where it is not there; a source of
// kOwnLane: the thread's own.
inline constexpr std::uint32_t kOwnLane = 32;
std::uint32_t shuffle(std::uint32_t mask, std::uint32_t value, std::uint32_t source);

void sync_warp(std::uint32_t mask);
void check_width(int width);

template <class T>
T shuffle_bits(std::uint32_t mask, T value, std::uint32_t source) {
  static_assert(sizeof(T) == sizeof(std::uint32_t));
  return std::bit_cast<T>(shuffle(mask, std::bit_cast<std::uint32_t>(value), source));
}

}  // namespace pc::cuda::standin

inline void __syncwarp(unsigned mask = 0xffffffffu) {
  pc::cuda::standin::sync_warp(mask);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  pc::cuda::standin::check_width(width);
  return pc::cuda::standin::shuffle_bits(mask, value, static_cast<unsigned>(source) % 32);
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  pc::cuda::standin::check_width(width);
  const unsigned source = pc::cuda::standin::lane_of_thread() ^ static_cast<unsigned>(lane_mask);
  return pc::cuda::standin::shuffle_bits(mask, value, source);
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  pc::cuda::standin::check_width(width);
  const unsigned lane = pc::cuda::standin::lane_of_thread();
  return pc::cuda::standin::shuffle_bits(
      mask, value, delta < 32 - lane ? lane + delta : pc::cuda::standin::kOwnLane);
}

namespace pc::cuda {

// As cuda/device/device.h has them for a GPU.
void multiply_tiles(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]);
void load_tiles(std::uint32_t (&tiles)[4], const void* row);
void load_tiles_transposed(std::uint32_t (&tiles)[4], const void* row);

}  // namespace pc::cuda
