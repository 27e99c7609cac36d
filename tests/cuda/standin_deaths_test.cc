// What the stand-in ends the process at: each in a child of the test.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstddef>

#include "cuda/device/device.h"

namespace pc::cuda {
namespace {

// Whether the work ends the process by a signal; it is done in a child.
template <class Work>
bool dies(Work&& work) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int signal : {SIGILL, SIGTRAP, SIGSEGV, SIGABRT}) std::signal(signal, SIG_DFL);
    close(STDERR_FILENO);
    work();
    cudaDeviceSynchronize();  // what is launched runs here
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

__global__ void nothing() {}
__global__ void half_barriers() {
  if (threadIdx.x < 16)
    __syncthreads();
  else
    __syncwarp();
}
__global__ void two_barriers() {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads_or(1);
}
__global__ void foreign_mask() {
  __syncwarp(threadIdx.x == 0 ? 1u : 3u);
}
__global__ void wrong_address(std::byte* from) {
  __shared__ __align__(16) std::byte room[32];
  copy_async_16(room, from + 8);
}
__global__ void beyond_shared() {
  dynamic_shared<char>()[100] = 1;
}
__global__ void no_shared() {
  dynamic_shared<char>()[0] = 1;
}
__device__ int descend(int n) {
  volatile char frame[1024] = {};
  frame[n % 1024] = 1;
  return n == 0 ? 0 : descend(n - 1) + frame[(n + 1) % 1024];
}
__global__ void deep(int* out) {
  *out = descend(1 << 14);
}
__global__ void launching() {
  launch(nothing, 1, 1, 0, nullptr);
}

TEST_CASE("What a GPU would hang at, or answer with anything, ends the process") {
  std::byte* bytes = nullptr;
  REQUIRE(cudaMalloc(&bytes, 64) == cudaSuccess);
  CHECK_FALSE(dies([] { launch(nothing, 1, 32, 0, nullptr); }));
  CHECK(dies([] { launch(half_barriers, 1, 32, 0, nullptr); }));
  CHECK(dies([] { launch(two_barriers, 1, 64, 0, nullptr); }));
  CHECK(dies([] { launch(foreign_mask, 1, 3, 0, nullptr); }));
  CHECK(dies([&] { launch(wrong_address, 1, 1, 0, nullptr, bytes); }));
  CHECK(dies([] { launch(beyond_shared, 1, 1, 100, nullptr); }));
  CHECK(dies([] { launch(no_shared, 1, 1, 0, nullptr); }));
  CHECK(dies([&] { launch(deep, 1, 1, 0, nullptr, reinterpret_cast<int*>(bytes)); }));
  CHECK(dies([] { launch(launching, 1, 1, 0, nullptr); }));
  CHECK(dies([] {
    cudaStream_t stream = nullptr;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaStreamDestroy(stream);
    launch(nothing, 1, 1, 0, stream);
  }));
  cudaFree(bytes);
}

}  // namespace
}  // namespace pc::cuda
