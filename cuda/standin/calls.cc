#include "cuda/standin/calls.h"

#include <mutex>
#include <utility>

#include "cuda/standin/faults.h"

namespace pc::cuda::standin {
namespace {

struct Plan {
  std::mutex mutex;
  int devices = 1;
  std::uint64_t calls = 0;
  std::uint64_t first_failing = UINT64_MAX;  // of calls, from 1
  cudaError_t error = cudaSuccess;
};
Plan& plan() {
  static Plan plan;
  return plan;
}

constinit thread_local cudaError_t last_error = cudaSuccess;

// What all calls return from now on, if they fail.
cudaError_t lasting_error() {
  std::lock_guard lock(plan().mutex);
  return plan().calls >= plan().first_failing ? plan().error : cudaSuccess;
}

}  // namespace

cudaError_t begin_call_without_device() {
  std::lock_guard lock(plan().mutex);
  return ++plan().calls >= plan().first_failing ? plan().error : cudaSuccess;
}

cudaError_t begin_call() {
  const cudaError_t error = begin_call_without_device();
  return error == cudaSuccess && device_count() == 0 ? cudaErrorNoDevice : error;
}

cudaError_t end_call(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

int device_count() {
  std::lock_guard lock(plan().mutex);
  return plan().devices;
}

void set_device_count(int count) {
  std::lock_guard lock(plan().mutex);
  plan().devices = count;
}

void fail_after(std::uint64_t n, cudaError_t error) {
  std::lock_guard lock(plan().mutex);
  plan().first_failing = plan().calls + (n == 0 ? 1 : n);
  plan().error = error;
}

void heal() {
  std::lock_guard lock(plan().mutex);
  plan().first_failing = UINT64_MAX;
  last_error = cudaSuccess;
}

std::uint64_t counted_calls() {
  std::lock_guard lock(plan().mutex);
  return plan().calls;
}

}  // namespace pc::cuda::standin

using pc::cuda::standin::lasting_error;

cudaError_t cudaPeekAtLastError() {
  const cudaError_t lasting = lasting_error();
  return lasting != cudaSuccess ? lasting : pc::cuda::standin::last_error;
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = cudaPeekAtLastError();
  pc::cuda::standin::last_error = cudaSuccess;
  return error;
}
