// The stand-in's streams: what a call queues, when it is carried out, and who waits for whom.
#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "cuda/device/device_buffer.h"
#include "cuda/standin/faults.h"
#include "tests/support/expect.h"

namespace pc::cuda {
namespace {

using test::must;

constexpr int kPoison = -1;  // what memory holds at first

__global__ void add_one(int* at) {
  ++*at;
}
__global__ void times_ten(int* at) {
  *at *= 10;
}
__global__ void put(int* at, const int* from) {
  *at = *from;
}

// An int on the device, which the test may look at: it is the host's memory.
struct Int {
  Int() : buffer(must(DeviceBuffer<int>::make(1))), at(buffer.data()) {}
  void set(int value) { *at = value; }
  DeviceBuffer<int> buffer;
  int* at;
};

struct Pinned {
  explicit Pinned(int value) : buffer(must(PinnedBuffer<int>::make(1))), at(buffer.data()) {
    *at = value;
  }
  PinnedBuffer<int> buffer;
  int* at;
};

cudaError_t copy_async(int* to, const int* from, cudaMemcpyKind kind, const Stream& stream) {
  return cudaMemcpyAsync(to, from, sizeof *to, kind, stream.get());
}

void wait_for(const Stream& stream) {
  REQUIRE(cudaStreamSynchronize(stream.get()) == cudaSuccess);
}

struct AtOnce {
  AtOnce() { standin::set_order(standin::Order::kAtOnce); }
  ~AtOnce() { standin::set_order(standin::Order::kLate); }
};

TEST_CASE("What pinned memory holds when a copy is made arrives, not what it held at the call") {
  const Stream stream = must(make_stream());
  const Int device;
  const Pinned host(1);
  REQUIRE(copy_async(device.at, host.at, cudaMemcpyHostToDevice, stream) == cudaSuccess);
  CHECK(*device.at == kPoison);
  *host.at = 2;
  wait_for(stream);
  CHECK(*device.at == 2);
}

TEST_CASE("A call takes pageable memory's bytes, and they arrive later") {
  const Stream stream = must(make_stream());
  const auto device = must(DeviceBuffer<int>::make(6));
  int host[6] = {1, 2, 3, 4, 5, 6};
  REQUIRE(copy_async(device.data(), host, cudaMemcpyHostToDevice, stream) == cudaSuccess);
  host[0] = 9;
  CHECK(device.data()[0] == kPoison);
  wait_for(stream);
  CHECK(device.data()[0] == 1);

  // 2 rows of 2, the first ones of 3 on the host.
  host[0] = 1;
  REQUIRE(cudaMemcpy2DAsync(device.data(), 2 * sizeof(int), host, 3 * sizeof(int), 2 * sizeof(int),
                            2, cudaMemcpyHostToDevice, stream.get()) == cudaSuccess);
  for (int& x : host) x = 9;
  CHECK(device.data()[1] == kPoison);
  wait_for(stream);
  CHECK(std::vector<int>(device.data(), device.data() + 6) ==
        std::vector<int>{1, 2, 4, 5, kPoison, kPoison});
}

TEST_CASE("A result is not in pinned memory before the wait; a copy to pageable memory waits") {
  const Stream stream = must(make_stream());
  Int device;
  device.set(5);
  const Pinned pinned(0);
  launch(add_one, 1, 1, 0, stream.get(), device.at);
  REQUIRE(copy_async(pinned.at, device.at, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
  CHECK(*pinned.at == 0);
  wait_for(stream);
  CHECK(*pinned.at == 6);

  int pageable = 0;
  launch(add_one, 1, 1, 0, stream.get(), device.at);
  REQUIRE(copy_async(&pageable, device.at, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
  CHECK(pageable == 7);
  launch(add_one, 1, 1, 0, stream.get(), device.at);
  int other = 0;
  REQUIRE(copy_async(&other, pinned.at, cudaMemcpyHostToHost, stream) == cudaSuccess);
  CHECK(other == 6);
  CHECK(*device.at == 8);
}

TEST_CASE("Fills, launches, copies on the device and products are queued, in order") {
  const Stream stream = must(make_stream());
  const Int a, b;
  REQUIRE(cudaMemsetAsync(a.at, 0, sizeof *a.at, stream.get()) == cudaSuccess);
  launch(add_one, 1, 1, 0, stream.get(), a.at);
  launch(times_ten, 1, 1, 0, stream.get(), a.at);
  REQUIRE(copy_async(b.at, a.at, cudaMemcpyDeviceToDevice, stream) == cudaSuccess);
  launch(add_one, 1, 1, 0, stream.get(), a.at);
  CHECK(*a.at == kPoison);
  CHECK(*b.at == kPoison);
  wait_for(stream);
  CHECK(*a.at == 11);
  CHECK(*b.at == 10);

  cublasHandle_t handle = nullptr;
  REQUIRE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasSetStream(handle, stream.get()) == CUBLAS_STATUS_SUCCESS);
  const auto x = must(DeviceBuffer<float>::make(1)), y = must(DeviceBuffer<float>::make(1));
  float scale = 2, keep = 0;
  const float three = 3;
  REQUIRE(cudaMemcpyAsync(x.data(), &three, sizeof three, cudaMemcpyHostToDevice, stream.get()) ==
          cudaSuccess);
  REQUIRE(cudaMemsetAsync(y.data(), 0, sizeof three, stream.get()) == cudaSuccess);
  REQUIRE(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &scale, x.data(), CUDA_R_32F, 1,
                       x.data(), CUDA_R_32F, 1, &keep, y.data(), CUDA_R_32F, 1, CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
  scale = 0;
  CHECK(*y.data() != 18);
  CHECK(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);  // waits
  CHECK(*y.data() == 18);
}

TEST_CASE("Calls without Async wait as far as CUDA promises, on the default stream") {
  Int a, b;
  REQUIRE(cudaMemset(a.at, 0, sizeof *a.at) == cudaSuccess);
  CHECK(*a.at == kPoison);
  REQUIRE(cudaMemcpy(b.at, a.at, sizeof *a.at, cudaMemcpyDeviceToDevice) == cudaSuccess);
  CHECK(*b.at == kPoison);
  const int one = 1;  // pageable: it waits for the stream, not for its own arrival
  REQUIRE(cudaMemcpy(a.at, &one, sizeof one, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(*b.at == 0);
  CHECK(*a.at == 0);
  int host = 0;
  REQUIRE(cudaMemcpy(&host, a.at, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(host == 1);
  const Pinned pinned(2);
  REQUIRE(cudaMemcpy(a.at, pinned.at, sizeof one, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(*a.at == 2);
}

TEST_CASE("Streams do not wait for each other, nor for the default stream") {
  const Stream first = must(make_stream()), second = must(make_stream());
  const Int source, copy, third;
  REQUIRE(cudaMemset(third.at, 0, sizeof *third.at) == cudaSuccess);
  REQUIRE(cudaMemsetAsync(source.at, 0, sizeof *source.at, first.get()) == cudaSuccess);
  launch(put, 1, 1, 0, second.get(), copy.at, source.at);
  wait_for(second);
  CHECK(*copy.at == kPoison);
  CHECK(*source.at == kPoison);
  REQUIRE(cudaStreamSynchronize(nullptr) == cudaSuccess);
  CHECK(*third.at == 0);
  CHECK(*source.at == kPoison);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(*source.at == 0);
}

TEST_CASE("An event is waited for up to where it was recorded") {
  const Stream stream = must(make_stream());
  const Event event = must(make_event());
  CHECK(cudaEventQuery(event.get()) == cudaSuccess);  // never recorded
  CHECK(cudaEventSynchronize(event.get()) == cudaSuccess);
  REQUIRE(cudaEventRecord(event.get(), stream.get()) == cudaSuccess);
  CHECK(cudaEventQuery(event.get()) == cudaErrorNotReady);
  CHECK(cudaGetLastError() == cudaErrorNotReady);

  Int device;
  device.set(0);
  launch(add_one, 1, 1, 0, stream.get(), device.at);
  REQUIRE(cudaEventRecord(event.get(), stream.get()) == cudaSuccess);
  launch(add_one, 1, 1, 0, stream.get(), device.at);
  CHECK(*device.at == 0);
  REQUIRE(cudaEventSynchronize(event.get()) == cudaSuccess);
  CHECK(*device.at == 1);
  CHECK(cudaEventQuery(event.get()) == cudaSuccess);
  wait_for(stream);
  CHECK(*device.at == 2);
}

TEST_CASE("A stream that waits for an event comes behind what the event was recorded behind") {
  const Stream first = must(make_stream()), second = must(make_stream());
  const Event event = must(make_event());
  const Int source, copy;
  REQUIRE(cudaStreamWaitEvent(second.get(), event.get()) == cudaSuccess);  // never recorded
  REQUIRE(cudaMemsetAsync(source.at, 0, sizeof *source.at, first.get()) == cudaSuccess);
  REQUIRE(cudaEventRecord(event.get(), first.get()) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(second.get(), event.get()) == cudaSuccess);
  launch(add_one, 1, 1, 0, first.get(), source.at);
  // The wait is for the record that was the latest then.
  REQUIRE(cudaEventRecord(event.get(), first.get()) == cudaSuccess);
  launch(put, 1, 1, 0, second.get(), copy.at, source.at);
  wait_for(second);
  CHECK(*copy.at == 0);
  CHECK(*source.at == 0);
  CHECK(cudaEventQuery(event.get()) == cudaErrorNotReady);
  CHECK(cudaGetLastError() == cudaErrorNotReady);
  wait_for(first);
  CHECK(*source.at == 1);
}

TEST_CASE("Whoever frees memory or ends a stream waits for what is queued") {
  Stream stream = must(make_stream());
  Int device;
  device.set(0);
  for (int n = 1; n <= 3; ++n) {
    launch(add_one, 1, 1, 0, stream.get(), device.at);
    CHECK(*device.at == n - 1);
    if (n == 1) static_cast<void>(Int());  // any memory
    if (n == 2) static_cast<void>(Pinned(0));
    if (n == 3) stream.reset();
    CHECK(*device.at == n);
  }
}

TEST_CASE("A call that fails queues nothing and carries out nothing, but for freeing") {
  struct Healed {
    ~Healed() { standin::heal(); }
  } const healed;
  const Stream stream = must(make_stream());
  const Event event = must(make_event());
  Int device;
  device.set(0);
  launch(add_one, 1, 1, 0, stream.get(), device.at);
  REQUIRE(cudaEventRecord(event.get(), stream.get()) == cudaSuccess);
  auto other = must(DeviceBuffer<int>::make(1));
  standin::fail_after(1, cudaErrorLaunchFailure);
  launch(add_one, 1, 1, 0, stream.get(), device.at);
  CHECK(cudaStreamSynchronize(stream.get()) == cudaErrorLaunchFailure);
  CHECK(cudaEventSynchronize(event.get()) == cudaErrorLaunchFailure);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  CHECK(*device.at == 0);
  other = {};
  CHECK(*device.at == 1);
}

TEST_CASE("Streams and events that are none are refused") {
  cudaStream_t stream = nullptr;
  constexpr unsigned kWaitsForTheDefaultStream = 0;
  CHECK(cudaStreamCreateWithFlags(&stream, kWaitsForTheDefaultStream) == cudaErrorInvalidValue);
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  const Event event = must(make_event());
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventRecord(event.get(), stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamWaitEvent(stream, event.get()) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventRecord(nullptr, nullptr) == cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
  CHECK(std::string(cudaGetErrorString(cudaErrorInvalidResourceHandle)) ==
        "invalid resource handle");
}

TEST_CASE("In the order kAtOnce a call has done its work when it returns") {
  const Stream stream = must(make_stream());
  const Event event = must(make_event());
  Int device;
  device.set(0);
  launch(add_one, 1, 1, 0, stream.get(), device.at);
  CHECK(*device.at == 0);
  const AtOnce at_once;
  CHECK(*device.at == 1);
  launch(add_one, 1, 1, 0, stream.get(), device.at);
  CHECK(*device.at == 2);
  const Pinned host(0);
  REQUIRE(copy_async(host.at, device.at, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
  CHECK(*host.at == 2);
  REQUIRE(cudaEventRecord(event.get(), stream.get()) == cudaSuccess);
  CHECK(cudaEventQuery(event.get()) == cudaSuccess);
}

// Streams hand a number around by events; at the end of each round all threads wait at once, each
// for another stream.
TEST_CASE("Streams that wait for each other again and again do not lock up") {
  constexpr int kStreams = 4, kRounds = 50, kTurns = 10;
  std::vector<Stream> streams;
  std::vector<Event> events;
  for (int i = 0; i < kStreams; ++i) {
    streams.push_back(must(make_stream()));
    events.push_back(must(make_event()));
  }
  Int device;
  device.set(0);
  bool right = true;
  for (int round = 0; round < kRounds; ++round) {
    for (int turn = 0; turn < kTurns * kStreams; ++turn) {
      const auto s = static_cast<std::size_t>(turn % kStreams);
      launch(add_one, 1, 1, 0, streams[s].get(), device.at);
      right &= cudaEventRecord(events[s].get(), streams[s].get()) == cudaSuccess;
      right &=
          cudaStreamWaitEvent(streams[(s + 1) % kStreams].get(), events[s].get()) == cudaSuccess;
    }
    std::vector<std::thread> threads;
    for (const Stream& stream : streams)
      threads.emplace_back([&stream] { cudaStreamSynchronize(stream.get()); });
    for (std::thread& thread : threads) thread.join();
    right &= *device.at == (round + 1) * kTurns * kStreams;
  }
  CHECK(right);
}

TEST_CASE("Threads queue on one stream and wait for it at once") {
  constexpr int kThreads = 4, kRounds = 100;
  const Stream stream = must(make_stream());
  Int sum;
  sum.set(0);
  std::array<Int, kThreads> own;
  std::array<bool, kThreads> right{};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      bool all = true;
      for (int round = 0; round < kRounds; ++round) {
        launch(add_one, 1, 1, 0, stream.get(), sum.at);
        all &= cudaMemsetAsync(own[t].at, 0, sizeof(int), stream.get()) == cudaSuccess;
        launch(add_one, 1, 1, 0, stream.get(), own[t].at);
        launch(times_ten, 1, 1, 0, stream.get(), own[t].at);
        int host = 0;
        all &= copy_async(&host, own[t].at, cudaMemcpyDeviceToHost, stream) == cudaSuccess;
        all &= host == 10;
      }
      right[t] = all;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == std::array<bool, kThreads>{true, true, true, true});
  CHECK(*sum.at == kThreads * kRounds);
}

}  // namespace
}  // namespace pc::cuda
