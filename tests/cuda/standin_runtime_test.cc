// The stand-in's runtime and cuBLAS: memory, planned failures, products of matrices.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "cuda/device/device.h"
#include "cuda/device/numbers.h"
#include "cuda/standin/faults.h"
#include "tests/support/random.h"

namespace pc::cuda {
namespace {

using test::Random;

struct Healed {
  ~Healed() {
    standin::heal();
    standin::set_device_count(1);
    standin::set_memory_limit(standin::kMemoryLimit);
  }
};

TEST_CASE("Device memory is aligned, counted, and no number at first") {
  const std::size_t before = standin::allocated_bytes();
  float* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, 1001) == cudaSuccess);
  CHECK(reinterpret_cast<std::uintptr_t>(memory) % 256 == 0);
  CHECK(standin::allocated_bytes() == before + 1001);
  float host[2] = {1, 2};
  CHECK(cudaMemcpy(host, memory, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK((std::isnan(host[0]) && std::isnan(host[1])));
  CHECK(cudaFree(memory) == cudaSuccess);
  CHECK(cudaFree(memory) == cudaErrorInvalidValue);
  CHECK(cudaFree(nullptr) == cudaSuccess);
  CHECK(standin::allocated_bytes() == before);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaSuccess);

  void* pinned = nullptr;
  REQUIRE(cudaMallocHost(&pinned, 10) == cudaSuccess);
  CHECK(standin::allocated_host_bytes() == 10);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
}

TEST_CASE("Copies stay inside an allocation, on the side that they name") {
  char host[64] = {}, *device = nullptr;
  REQUIRE(cudaMalloc(&device, 32) == cudaSuccess);
  CHECK(cudaMemcpy(device, host, 32, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpy(device, host, 33, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(device + 1, host, 32, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(host, host + 32, 32, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(device, host, 32, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(device, device + 16, 16, cudaMemcpyDeviceToDevice) == cudaSuccess);
  CHECK(cudaMemcpy(device, host, 32, cudaMemcpyDefault) == cudaSuccess);
  CHECK(cudaMemcpy(host, host + 32, 32, cudaMemcpyHostToHost) == cudaSuccess);
  CHECK(cudaMemcpy(nullptr, device, 32, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaMemset(device, 5, 32) == cudaSuccess);
  CHECK(cudaMemset(device, 5, 33) == cudaErrorInvalidValue);
  CHECK(cudaMemsetAsync(host, 5, 1) == cudaErrorInvalidValue);

  // 3 rows of 4 bytes, 8 apart on the device.
  for (int i = 0; i < 12; ++i) host[i] = static_cast<char>(i);
  CHECK(cudaMemcpy2DAsync(device, 8, host, 4, 4, 3, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpyAsync(host + 32, device, 20, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(std::string(host + 32, 20) ==
        std::string("\0\1\2\3\5\5\5\5\4\5\6\7\5\5\5\5\10\11\12\13", 20));
  CHECK(cudaMemcpy2DAsync(device, 8, host, 4, 4, 5, cudaMemcpyHostToDevice) ==
        cudaErrorInvalidValue);
  CHECK(cudaMemcpy2DAsync(device, 3, host, 4, 4, 3, cudaMemcpyHostToDevice) ==
        cudaErrorInvalidValue);
  cudaFree(device);
  cudaGetLastError();
}

TEST_CASE("Memory ends where the limit is set") {
  const Healed healed;
  standin::set_memory_limit(standin::allocated_bytes() + 1000);
  void *first = nullptr, *second = nullptr;
  REQUIRE(cudaMalloc(&first, 600) == cudaSuccess);
  CHECK(cudaMalloc(&second, 401) == cudaErrorMemoryAllocation);
  std::size_t free = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  CHECK(free == 400);
  CHECK(cudaMalloc(&second, 400) == cudaSuccess);
  CHECK(cudaMalloc(&second, SIZE_MAX) == cudaErrorMemoryAllocation);
  CHECK(cudaFree(first) == cudaSuccess);
  standin::set_memory_limit(0);
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  CHECK(free == 0);
  cudaGetLastError();
}

__global__ void add_one(int* at) {
  ++*at;
}

TEST_CASE("From the call that is to fail on, all fail until they are healed") {
  const Healed healed;
  int host = 0, *device = nullptr;
  REQUIRE(cudaMalloc(&device, sizeof host) == cudaSuccess);
  REQUIRE(cudaMemset(device, 0, sizeof host) == cudaSuccess);
  standin::fail_after(3, cudaErrorIllegalAddress);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  launch(add_one, 1, 1, 0, nullptr, device);
  CHECK(cudaGetLastError() == cudaSuccess);
  launch(add_one, 1, 1, 0, nullptr, device);
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
    CHECK(cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost) ==
          cudaErrorIllegalAddress);
    CHECK(cudaStreamSynchronize(nullptr) == cudaErrorIllegalAddress);
  }
  CHECK(host == 0);
  cublasHandle_t handle = nullptr;
  CHECK(cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS);
  standin::heal();
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(host == 1);

  const std::size_t before = standin::allocated_bytes();
  standin::fail_after(1, cudaErrorLaunchFailure);
  CHECK(cudaFree(device) == cudaErrorLaunchFailure);
  CHECK(standin::allocated_bytes() == before - sizeof host);
}

TEST_CASE("Each OS thread has its own last error") {
  CHECK(cudaSetDevice(5) == cudaErrorInvalidDevice);
  cudaError_t other = cudaErrorUnknown;
  std::thread([&] { other = cudaGetLastError(); }).join();
  CHECK(other == cudaSuccess);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
}

TEST_CASE("Devices are as many as set") {
  const Healed healed;
  int count = 0;
  CHECK(cudaGetDeviceCount(&count) == cudaSuccess);
  CHECK(count == 1);
  cudaDeviceProp properties;
  REQUIRE(cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
  CHECK(properties.major == 9);
  CHECK(properties.sharedMemPerBlockOptin == 227 << 10);
  CHECK(cudaGetDeviceProperties(&properties, 1) == cudaErrorInvalidDevice);
  standin::set_device_count(2);
  CHECK(cudaSetDevice(1) == cudaSuccess);
  CHECK(cudaGetDevice(&count) == cudaSuccess);
  CHECK(count == 1);
  CHECK(cudaSetDevice(0) == cudaSuccess);
  standin::set_device_count(0);
  CHECK(cudaGetDeviceCount(&count) == cudaErrorNoDevice);
  CHECK(count == 0);
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 1) == cudaErrorNoDevice);
  launch(add_one, 1, 1, 0, nullptr, static_cast<int*>(nullptr));
  CHECK(cudaGetLastError() == cudaErrorNoDevice);
  CHECK(std::string(cudaGetErrorName(cudaErrorNoDevice)) == "cudaErrorNoDevice");
  CHECK(std::string(cudaGetErrorString(cudaErrorMemoryAllocation)) == "out of memory");
}

struct Product {
  cudaDataType type;
  bool a_turned, b_turned;
  int m, n, k, a_pitch, b_pitch, c_pitch;
  float alpha, beta;
};

Product random_product(Random& random) {
  constexpr cudaDataType kTypes[] = {CUDA_R_32F, CUDA_R_16BF, CUDA_R_16F};
  const auto size = [&](std::uint32_t most) { return static_cast<int>(random.between(1, most)); };
  Product p{kTypes[random.below(3)],
            random.chance(0.5),
            random.chance(0.5),
            size(20),
            size(20),
            size(40),
            0,
            0,
            0,
            0.5f,
            random.chance(0.5) ? 0.0f : -2.0f};
  p.a_pitch = (p.a_turned ? p.k : p.m) + size(4) - 1;
  p.b_pitch = (p.b_turned ? p.n : p.k) + size(4) - 1;
  p.c_pitch = p.m + size(4) - 1;
  return p;
}

struct Matrices {
  explicit Matrices(const Product& p, Random& random)
      : a(fill(p.type, p.a_pitch * (p.a_turned ? p.m : p.k), random)),
        b(fill(p.type, p.b_pitch * (p.b_turned ? p.k : p.n), random)),
        c(fill(CUDA_R_32F, p.c_pitch * p.n, random)) {
    if (p.beta == 0)  // what is there must not be read
      CHECK(cudaMemset(c.device, 0xff, c.values.size() * sizeof(float)) == cudaSuccess);
  }
  ~Matrices() {
    for (void* memory : {a.device, b.device, c.device}) cudaFree(memory);
  }

  struct Matrix {
    std::vector<float> values;
    void* device;
  };
  // Values that every type holds.
  static Matrix fill(cudaDataType type, int n, Random& random) {
    Matrix matrix{std::vector<float>(static_cast<std::size_t>(n)), nullptr};
    const std::size_t bytes = matrix.values.size() * (type == CUDA_R_32F ? 4 : 2);
    REQUIRE(cudaMalloc(&matrix.device, bytes) == cudaSuccess);
    for (std::size_t i = 0; i < matrix.values.size(); ++i) {
      const int whole = static_cast<int>(random.below(64)) - 32;
      const float value = matrix.values[i] = static_cast<float>(whole) / 32;
      if (type == CUDA_R_32F)
        static_cast<float*>(matrix.device)[i] = value;
      else
        static_cast<std::uint16_t*>(matrix.device)[i] =
            type == CUDA_R_16BF ? to_bf16(value) : f16_of(whole);
    }
    return matrix;
  }
  // Of whole / 32, -32 <= whole < 32.
  static std::uint16_t f16_of(int whole) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
      if (from_f16(static_cast<std::uint16_t>(bits)) * 32 == static_cast<float>(whole))
        return static_cast<std::uint16_t>(bits);
    return 0xffff;
  }

  Matrix a, b, c;
};

TEST_CASE("cublasGemmEx is the product of matrices") {
  Random random(3);
  cublasHandle_t handle = nullptr;
  REQUIRE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  for (int round = 0; round < 60; ++round) {
    const Product p = random_product(random);
    Matrices of(p, random);
    REQUIRE(cublasGemmEx(handle, p.a_turned ? CUBLAS_OP_T : CUBLAS_OP_N,
                         p.b_turned ? CUBLAS_OP_T : CUBLAS_OP_N, p.m, p.n, p.k, &p.alpha,
                         of.a.device, p.type, p.a_pitch, of.b.device, p.type, p.b_pitch, &p.beta,
                         of.c.device, CUDA_R_32F, p.c_pitch, CUBLAS_COMPUTE_32F,
                         CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    for (int i = 0; i < p.m; ++i)
      for (int j = 0; j < p.n; ++j) {
        const auto at = [](const Matrices::Matrix& matrix, int index) {
          return matrix.values[static_cast<std::size_t>(index)];
        };
        float sum = 0;  // exact: multiples of 2^-10
        for (int l = 0; l < p.k; ++l)
          sum += at(of.a, p.a_turned ? i * p.a_pitch + l : l * p.a_pitch + i) *
                 at(of.b, p.b_turned ? l * p.b_pitch + j : j * p.b_pitch + l);
        const int c = j * p.c_pitch + i;
        const float expected = p.alpha * sum + (p.beta == 0 ? 0 : p.beta * at(of.c, c));
        REQUIRE(static_cast<const float*>(of.c.device)[c] == expected);
      }
  }
  CHECK(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
}

TEST_CASE("TF32 rounds inputs, and what cuBLAS cannot do is refused") {
  cublasHandle_t handle = nullptr;
  REQUIRE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  float *in = nullptr, *out = nullptr;
  REQUIRE(cudaMalloc(&in, sizeof *in) == cudaSuccess);
  REQUIRE(cudaMalloc(&out, sizeof *out) == cudaSuccess);
  const float one = 1, zero = 0;
  const auto square = [&](float x, cudaDataType type, cudaDataType c, cublasComputeType_t compute,
                          int pitch = 1) {
    *in = x;
    const cublasStatus_t status =
        cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, 1, &one, in, type, pitch, in, type, 1,
                     &zero, out, c, 1, compute, CUBLAS_GEMM_DEFAULT);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    return status;
  };
  const float above = 1 + 0x1p-12f, half = 1 + 0x1p-11f;
  CHECK(square(above, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_SUCCESS);
  CHECK(*out == above * above);
  CHECK(square(above, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32) ==
        CUBLAS_STATUS_SUCCESS);
  CHECK(*out == 1);
  REQUIRE(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH) == CUBLAS_STATUS_SUCCESS);
  CHECK(square(-half, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_SUCCESS);
  CHECK(*out == (1 + 0x1p-10f) * (1 + 0x1p-10f));
  CHECK(square(half, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC) == CUBLAS_STATUS_SUCCESS);
  CHECK(*out == half * half);
  CHECK(square(1, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(square(1, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32) ==
        CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(square(1, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 0) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasSetStream(handle, nullptr) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasSetWorkspace(handle, in, sizeof *in) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasSetWorkspace(handle, in, 8) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(std::string(cublasGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED)) ==
        "CUBLAS_STATUS_NOT_SUPPORTED");
  cudaFree(in);
  cudaFree(out);
  CHECK(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
}

}  // namespace
}  // namespace pc::cuda
