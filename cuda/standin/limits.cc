#include "cuda/standin/limits.h"

#include <map>
#include <mutex>

#include "cuda/standin/block.h"
#include "cuda/standin/calls.h"
#include "cuda/standin/fatal.h"
#include "cuda/standin/kernels.h"

namespace pc::cuda::standin {
namespace {

// Dynamic shared memory that kernels may ask for.
struct Granted {
  std::mutex mutex;
  std::map<const void*, std::size_t> bytes;
};
Granted& granted() {
  static Granted& granted = *new Granted;
  return granted;
}

std::size_t most_shared(const void* kernel) {
  std::lock_guard lock(granted().mutex);
  const auto found = granted().bytes.find(kernel);
  return found == granted().bytes.end() ? kUnaskedShared : found->second;
}

bool within_limits(const dim3& grid, const dim3& block) {
  const auto within = [](unsigned n, std::size_t most) { return n != 0 && n <= most; };
  return within(grid.x, kMostGridX) && within(grid.y, kMostGridYZ) && within(grid.z, kMostGridYZ) &&
         within(block.x, kMostThreads) && within(block.y, kMostThreads) &&
         within(block.z, kMostBlockZ) && std::size_t{block.x} * block.y * block.z <= kMostThreads;
}

}  // namespace

cudaError_t set_attribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  return call([=] {
    if (!kernel) return cudaErrorInvalidValue;
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || static_cast<std::size_t>(value) > kMostShared) return cudaErrorInvalidValue;
    std::lock_guard lock(granted().mutex);
    granted().bytes[kernel] = static_cast<std::size_t>(value);
    return cudaSuccess;
  });
}

bool may_launch(const void* kernel, dim3 grid, dim3 block, std::size_t shared_bytes) {
  return cudaSuccess == call([=] {
           return kernel && within_limits(grid, block) && shared_bytes <= most_shared(kernel)
                      ? cudaSuccess
                      : cudaErrorInvalidValue;
         });
}

void* shared_memory_of_block() {
  if (block_view->shared_bytes == 0) stop("a kernel was launched without dynamic shared memory");
  return block_view->shared;
}

}  // namespace pc::cuda::standin
