// The host stand-in for CUDA against plain loops: what kernels that it runs compute.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/device/device.h"
#include "cuda/device/numbers.h"
#include "tests/support/random.h"

namespace pc::cuda {
namespace {

using test::Random;

// Device memory with a copy on the host.
template <class T>
class Values {
 public:
  explicit Values(std::vector<T> values) : host(std::move(values)) {
    REQUIRE(cudaMalloc(&device, bytes()) == cudaSuccess);
    REQUIRE(cudaMemcpy(device, host.data(), bytes(), cudaMemcpyHostToDevice) == cudaSuccess);
  }
  explicit Values(std::size_t n, T value = {}) : Values(std::vector<T>(n, value)) {}
  ~Values() { cudaFree(device); }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  const std::vector<T>& fetch() {
    REQUIRE(cudaMemcpy(host.data(), device, bytes(), cudaMemcpyDeviceToHost) == cudaSuccess);
    return host;
  }
  std::size_t bytes() const { return host.size() * sizeof(T); }

  std::vector<T> host;
  T* device = nullptr;
};

template <class... Parameters, class... Arguments>
void run(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
         Arguments... arguments) {
  launch(kernel, grid, block, shared_bytes, nullptr, arguments...);
  REQUIRE(cudaGetLastError() == cudaSuccess);
}

__global__ void who_am_i(uint4* out, unsigned* blocks) {
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] =
      make_uint4(threadIdx.x, threadIdx.y, threadIdx.z, block);
  if (thread == 0) atomicAdd(blocks, 1u);
}

TEST_CASE("Each thread of each block runs once and knows itself") {
  const dim3 grid(3, 2, 2), block(5, 4, 3);
  Values<uint4> out(12 * 60);
  Values<unsigned> blocks(1);
  run(who_am_i, grid, block, 0, out.device, blocks.device);
  CHECK(blocks.fetch()[0] == 12);
  out.fetch();
  for (unsigned b = 0, i = 0; b < 12; ++b)
    for (unsigned z = 0; z < 3; ++z)
      for (unsigned y = 0; y < 4; ++y)
        for (unsigned x = 0; x < 5; ++x, ++i) {
          const uint4 at = out.host[i];
          REQUIRE((at.x == x && at.y == y && at.z == z && at.w == b));
        }
}

template <class T>
__device__ T sum_of_warp(T x) {
  for (int apart = 16; apart != 0; apart /= 2) x += __shfl_xor_sync(kEveryLane, x, apart);
  return x;
}

__global__ void __launch_bounds__(1024) sum_rows(const float* in, unsigned n, float* out) {
  __shared__ float sums[32];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0;
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) sum += in[blockIdx.x * n + i];
  sum = sum_of_warp(sum);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  if (warp != 0) return;
  sum = lane < blockDim.x / 32 ? sums[lane] : 0;
  for (unsigned apart = 16; apart != 0; apart /= 2) sum += __shfl_down_sync(kEveryLane, sum, apart);
  out[blockIdx.x * 32 + lane] = __shfl_sync(kEveryLane, sum, 0);
}

TEST_CASE("Sums by shuffles and shared memory are those of plain loops") {
  Random random(1);
  for (const unsigned threads : {32u, 64u, 256u, 1024u}) {
    const unsigned n = random.between(1, 3000), rows = 5;
    Values<float> in(random.floats(n * rows)), out(rows * 32);
    run(sum_rows, rows, threads, 0, in.device, n, out.device);
    out.fetch();
    for (unsigned row = 0; row < rows; ++row) {
      const float* begin = in.host.data() + row * n;
      const double expected = std::accumulate(begin, begin + n, 0.0);
      for (unsigned lane = 0; lane < 32; ++lane)
        REQUIRE(out.host[row * 32 + lane] == Approx(expected).margin(1e-4));
    }
  }
}

__global__ void shuffles(unsigned* out, float* shifted) {
  const unsigned lane = threadIdx.x;
  out[lane] = __shfl_sync(kEveryLane, lane * 3, static_cast<int>(lane + 5));
  out[32 + lane] = static_cast<unsigned>(__shfl_xor_sync(kEveryLane, -static_cast<int>(lane), 7));
  shifted[lane] = __shfl_down_sync(kEveryLane, 0.5f * static_cast<float>(lane), 4);
  // Two halves of the warp each on their own.
  const unsigned mask = lane < 16 ? 0xffffu : 0xffff0000u;
  if (lane < 16) __syncwarp(mask);
  out[64 + lane] = __shfl_xor_sync(mask, lane, 1);
  __syncwarp();
}

TEST_CASE("Shuffles move what they should") {
  Values<unsigned> out(96);
  Values<float> shifted(32);
  run(shuffles, 2, 32, 0, out.device, shifted.device);
  out.fetch();
  shifted.fetch();
  for (unsigned lane = 0; lane < 32; ++lane) {
    CHECK(out.host[lane] == (lane + 5) % 32 * 3);
    CHECK(out.host[32 + lane] == 0u - (lane ^ 7));
    CHECK(out.host[64 + lane] == (lane ^ 1));
    CHECK(shifted.host[lane] == 0.5f * static_cast<float>(lane < 28 ? lane + 4 : lane));
  }
}

__global__ void pass_along(unsigned* out, unsigned rounds) {
  __shared__ unsigned ring[1024];
  const unsigned i = threadIdx.x, n = blockDim.x;
  ring[i] = i;
  __syncthreads();
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned next = ring[(i + 1) % n];
    __syncthreads();
    ring[i] = next;
    __syncthreads();
  }
  out[blockIdx.x * n + i] = ring[i];
}

TEST_CASE("A barrier holds every thread of a block, in either order of starting") {
  for (const unsigned n : {1u, 31u, 33u, 100u, 1024u}) {
    Values<unsigned> out(4 * n);
    run(pass_along, 4, n, 0, out.device, 7u);
    out.fetch();
    for (unsigned i = 0; i < 4 * n; ++i) REQUIRE(out.host[i] == (i % n + 7) % n);
  }
}

__global__ void leave_early(unsigned* out) {
  __shared__ unsigned count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  // Each round, those return whose turn it is; the others meet without them.
  for (unsigned round = 0; round < 4; ++round) {
    if (threadIdx.x % 4 == round && threadIdx.x != 0) return;
    atomicAdd(&count, 1u);
    __syncwarp();
    __syncthreads();
    if (threadIdx.x == 0) out[round] = count;
    __syncthreads();
  }
}

TEST_CASE("Threads that have returned are missed by no barrier") {
  Values<unsigned> out(4);
  run(leave_early, 2, 100, 0, out.device);
  const unsigned at_first = 76;  // of 100 a quarter but thread 0 returns at once
  CHECK(out.fetch() ==
        std::vector<unsigned>{at_first, at_first + 51, at_first + 51 + 26, at_first + 51 + 26 + 1});
}

__global__ void any_of(const int* predicates, int* out) {
  if (threadIdx.x % 3 == 2) return;
  for (unsigned round = 0; round < 3; ++round) {
    const int any = __syncthreads_or(predicates[round * blockDim.x + threadIdx.x]);
    out[round * blockDim.x + threadIdx.x] = any != 0;
  }
}

TEST_CASE("__syncthreads_or tells all threads of any") {
  constexpr unsigned kThreads = 70;
  std::vector<int> predicates(3 * kThreads);
  predicates[kThreads + 69] = 4;     // thread 69 of round 1
  predicates[2 * kThreads + 2] = 1;  // thread 2 of round 2 has returned
  Values<int> in(predicates), out(3 * kThreads, -1);
  run(any_of, 2, kThreads, 0, in.device, out.device);
  out.fetch();
  for (unsigned i = 0; i < 3 * kThreads; ++i)
    REQUIRE(out.host[i] == (i % kThreads % 3 == 2 ? -1 : i / kThreads == 1));
}

__global__ void multiply(const std::uint16_t* a, const std::uint16_t* b, float* d) {
  __shared__ __align__(16) std::uint16_t left[16][16];
  __shared__ __align__(16) std::uint16_t right[16][16];  // row k, column j; of which 8 are used
  const unsigned lane = threadIdx.x;
  for (unsigned i = lane; i < 256; i += 32) {
    left[i / 16][i % 16] = a[i];
    right[i / 16][i % 16] = b[i];
  }
  __syncwarp();
  std::uint32_t of_a[4], of_b[4];
  load_tiles(of_a, &left[lane % 16][lane / 16 * 8]);
  load_tiles_transposed(of_b, &right[lane % 16][lane / 16 * 8]);
  for (unsigned half = 0; half < 2; ++half) {
    float sums[4];
    for (unsigned i = 0; i < 4; ++i)
      sums[i] = d[(lane / 4 + 8 * (i / 2)) * 16 + 8 * half + 2 * (lane % 4) + i % 2];
    const std::uint32_t columns[2] = {of_b[2 * half], of_b[2 * half + 1]};
    multiply_tiles(sums, of_a, columns);
    for (unsigned i = 0; i < 4; ++i)
      d[(lane / 4 + 8 * (i / 2)) * 16 + 8 * half + 2 * (lane % 4) + i % 2] = sums[i];
  }
}

TEST_CASE("multiply_tiles of what load_tiles loads is the product of matrices") {
  Random random(2);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::uint16_t> a(256), b(256);
    for (auto* matrix : {&a, &b})
      for (std::uint16_t& x : *matrix) x = to_bf16(random.symmetric());
    Values<std::uint16_t> left(a), right(b);
    Values<float> d(random.floats(256));
    std::vector<double> expected(d.host.begin(), d.host.end());
    for (unsigned i = 0; i < 16; ++i)
      for (unsigned j = 0; j < 16; ++j)
        for (unsigned k = 0; k < 16; ++k)
          expected[i * 16 + j] += double{from_bf16(a[i * 16 + k])} * from_bf16(b[k * 16 + j]);
    run(multiply, 1, 32, 0, left.device, right.device, d.device);
    d.fetch();
    for (unsigned i = 0; i < 256; ++i) REQUIRE(d.host[i] == Approx(expected[i]).margin(1e-5));
  }
}

__global__ void load_one(std::uint32_t* out, bool transposed) {
  __shared__ __align__(16) std::uint16_t tiles[4][8][8];
  for (unsigned i = threadIdx.x; i < 256; i += 32)
    tiles[i / 64][i / 8 % 8][i % 8] = static_cast<std::uint16_t>(i);
  __syncwarp();
  std::uint32_t loaded[4];
  const void* row = tiles[threadIdx.x / 8][threadIdx.x % 8];
  if (transposed)
    load_tiles_transposed(loaded, row);
  else
    load_tiles(loaded, row);
  for (unsigned i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = loaded[i];
}

TEST_CASE("load_tiles gives each lane two elements of each tile, of a row or of a column") {
  for (const bool transposed : {false, true}) {
    Values<std::uint32_t> out(128);
    run(load_one, 1, 32, 0, out.device, transposed);
    out.fetch();
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned tile = 0; tile < 4; ++tile) {
        const unsigned i = lane / 4, j = 2 * (lane % 4);
        const unsigned low = tile * 64 + (transposed ? j * 8 + i : i * 8 + j);
        REQUIRE(out.host[4 * lane + tile] == (low | (low + (transposed ? 8 : 1)) << 16));
      }
  }
}

__global__ void copy_late(const float4* in, float* seen) {
  __shared__ float4 room[2];
  room[0] = room[1] = make_float4(7, 7, 7, 7);
  copy_async_16(&room[0], &in[0]);
  commit_copies();
  copy_async_16(&room[1], &in[1]);
  commit_copies();
  seen[0] = room[0].x;
  wait_for_copies<2>();
  seen[1] = room[0].x;
  wait_for_copies<1>();
  seen[2] = room[0].w;
  seen[3] = room[1].x;
  wait_for_copies<0>();
  seen[4] = room[1].w;
  copy_async_16(&room[0], &in[1]);
  wait_for_copies<0>();  // belongs to no group
  seen[5] = room[0].x;
}

TEST_CASE("Asynchronous copies arrive when they are waited for, and no sooner") {
  Values<float4> in({make_float4(1, 2, 3, 4), make_float4(5, 6, 7, 8)});
  Values<float> seen(6);
  run(copy_late, 1, 1, 0, in.device, seen.device);
  seen.fetch();
  CHECK(std::isnan(seen.host[0]));
  CHECK(std::isnan(seen.host[1]));
  CHECK(seen.host[2] == 4);
  CHECK(std::isnan(seen.host[3]));
  CHECK(seen.host[4] == 8);
  CHECK(std::isnan(seen.host[5]));
}

__global__ void use_dynamic(unsigned n, unsigned* first, unsigned* out) {
  auto* words = dynamic_shared<unsigned>();
  if (threadIdx.x == 0) first[blockIdx.x] = words[n - 1];
  __syncthreads();
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) words[i] = i * blockIdx.x;
  __syncthreads();
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * n + i] = words[n - 1 - i];
}

TEST_CASE("Dynamic shared memory is poisoned before each block and as large as asked for") {
  const unsigned n = 1000;
  Values<unsigned> first(3), out(3 * n);
  run(use_dynamic, 3, 64, n * sizeof(unsigned), n, first.device, out.device);
  CHECK(first.fetch() == std::vector<unsigned>(3, UINT32_MAX));
  out.fetch();
  for (unsigned i = 0; i < 3 * n; ++i) REQUIRE(out.host[i] == (n - 1 - i % n) * (i / n));
}

__global__ void nothing() {}
__global__ void nothing_too() {}
__global__ void set(unsigned* at) {
  *at = 1;
}

TEST_CASE("A launch beyond the limits runs nothing, and an error tells") {
  Values<unsigned> at(1);
  const auto result = [&](dim3 grid, dim3 block, std::size_t shared) {
    launch(set, grid, block, shared, nullptr, at.device);
    return cudaGetLastError();
  };
  for (const dim3& grid : {dim3(0), dim3(1, 0), dim3(1, 65536), dim3(1, 1, 65536)})
    CHECK(result(grid, 32, 0) == cudaErrorInvalidValue);
  for (const dim3& block : {dim3(0), dim3(1025), dim3(32, 33), dim3(1, 1, 65)})
    CHECK(result(1, block, 0) == cudaErrorInvalidValue);
  CHECK(result(1, 1, (48 << 10) + 1) == cudaErrorInvalidValue);
  CHECK(at.fetch()[0] == 0);
  CHECK(cudaGetLastError() == cudaSuccess);

  run(nothing, 1, 1024, 48 << 10);
  REQUIRE(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10) ==
          cudaSuccess);
  run(nothing, 1, 1, 100 << 10);
  launch(nothing_too, 1, 1, 100 << 10, nullptr);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (227 << 10) + 1) == cudaErrorInvalidValue);
  cudaGetLastError();
}

__global__ void atomics(float* sum, unsigned* counts, unsigned long long* wide, int* most) {
  atomicAdd(sum, 0.5f);
  atomicAdd(wide, 1ull << 32);
  atomicMax(&counts[0], threadIdx.x * 7 % 50);
  atomicOr(&counts[1], 1u << threadIdx.x % 20);
  atomicMax(most, -static_cast<int>(threadIdx.x) - 3);
}

TEST_CASE("Atomics do what they say") {
  Values<float> sum(1);
  Values<unsigned> counts(2);
  Values<unsigned long long> wide(1);
  Values<int> most(1, -1000);
  run(atomics, 2, 100, 0, sum.device, counts.device, wide.device, most.device);
  CHECK(sum.fetch()[0] == 100);
  CHECK(counts.fetch() == std::vector<unsigned>{49, (1u << 20) - 1});
  CHECK(wide.fetch()[0] == 200ull << 32);
  CHECK(most.fetch()[0] == -3);
}

__global__ void functions(const float* in, float* out) {
  const float x = __ldg(in);
  double sine, cosine;
  sincos(double{x}, &sine, &cosine);
  const float results[] = {expf(x),
                           __expf(x),
                           exp2f(x),
                           logf(x),
                           __logf(x),
                           tanhf(x),
                           erff(x),
                           sqrtf(x),
                           rsqrtf(x),
                           fmaf(x, x, x),
                           fmaxf(x, 1),
                           fminf(x, 1),
                           fabsf(-x),
                           __fdividef(x, 3),
                           static_cast<float>(sine),
                           static_cast<float>(cosine),
                           __uint_as_float(__float_as_uint(x) ^ 0x80000000u),
                           static_cast<float>(min(3, -1)),
                           static_cast<float>(max(3u, 4)),
                           static_cast<float>(__popc(0xf0fu))};
  for (std::size_t i = 0; i < sizeof results / sizeof *results; ++i) out[i] = results[i];
}

TEST_CASE("Kernels' functions are the C++ library's") {
  const double x = 0.7f;
  const std::vector<double> expected{std::exp(x),
                                     std::exp(x),
                                     std::exp2(x),
                                     std::log(x),
                                     std::log(x),
                                     std::tanh(x),
                                     std::erf(x),
                                     std::sqrt(x),
                                     1 / std::sqrt(x),
                                     x * x + x,
                                     1,
                                     x,
                                     x,
                                     x / 3,
                                     std::sin(x),
                                     std::cos(x),
                                     -x,
                                     -1,
                                     4,
                                     8};
  Values<float> in(std::vector<float>{0.7f}), out(expected.size());
  run(functions, 1, 1, 0, in.device, out.device);
  out.fetch();
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(out.host[i] == Approx(expected[i]).epsilon(1e-6));
}

TEST_CASE("Two OS threads run kernels at once") {
  std::array<bool, 2> right{};
  std::array<std::thread, 2> threads;
  for (unsigned t = 0; t < 2; ++t)
    threads[t] = std::thread([&right, t] {
      bool all = true;
      for (unsigned round = 0; round < 20; ++round) {
        const unsigned n = 64 + 32 * t;
        unsigned* out = nullptr;
        all = all && cudaMalloc(&out, 4 * n * sizeof *out) == cudaSuccess;
        launch(pass_along, 4, n, 0, nullptr, out, round);
        all = all && cudaGetLastError() == cudaSuccess;
        all = all && cudaStreamSynchronize(nullptr) == cudaSuccess;
        for (unsigned i = 0; all && i < 4 * n; ++i) all = out[i] == (i % n + round) % n;
        cudaFree(out);
      }
      right[t] = all;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == std::array<bool, 2>{true, true});
}

}  // namespace
}  // namespace pc::cuda
