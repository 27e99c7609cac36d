// Runs kernels on the OS thread that carries them out: blocks one after the other, each thread of a
// block on a fiber. Threads that wait for nobody share one fiber, one after the other.
//
// Every second block of a launch starts its threads from the last one, so that what holds in one
// order alone is found. Everything belongs to the OS thread; several may run kernels at once.
// Threads that have returned are missed by no barrier. Where nobody can go on, the process ends.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/standin/copies.h"
#include "cuda/standin/vector_types.h"

namespace pc::cuda::standin {

inline constexpr std::uint32_t kWarpLanes = 32;
inline constexpr std::uint32_t kMostThreads = 1024;  // of a block

struct Launch {
  dim3 grid, block;
  std::size_t shared_bytes;
  void (*run)(void* kernel);  // as the thread that thread_index names
  void* kernel;
};
void run_grid(const Launch& launch);

// What a kernel's thread sees of itself; outside of kernels nothing.
struct BlockView {
  uint3 index;
  dim3 threads, blocks;  // of the block, of the grid
  void* shared;          // dynamic, 0xff at first; on 16 bytes and on no more
  std::size_t shared_bytes;
};
extern constinit thread_local const uint3* thread_index;
extern constinit thread_local const BlockView* block_view;

std::uint32_t lane_of_thread();
AsyncCopies& copies_of_thread();

// What the lanes of a warp do together: once all of them have come, one does it for all.
struct Collective {
  const char* name;
  // operands: of each of `lanes` what it brought.
  void (*perform)(void* const* operands, std::uint32_t lanes);
};
// Returns when all lanes of `mask` that have not returned came with this mask and collective,
// and it is done.
void meet_warp(std::uint32_t mask, const Collective& collective, void* operands);

// Returns when all threads of the block that have not returned came to the barrier of this name
// (a literal): whether the predicate of any is true.
bool meet_block(const char* name, bool predicate);

}  // namespace pc::cuda::standin
