// How fast does a CUDA device read and write its memory, and how fast is its link to the host?
//
//   device_bandwidth [--mib 1024] [--repeat 5]
//
// Floors of a cached token whose states are on the device, and of one whose states come from the
// host (scripts/bench-cuda): copies inside the device, whose bytes are counted twice, since each is
// read and written; and copies from page-locked memory to the device, as the plug-in brings
// modules. Prints JSON: the device's name, and 10^9 bytes a second of each repetition behind a
// first one. Built where PC_WITH_CUDA is set; elsewhere by the stand-in for a device
// (cuda/standin/), whose figures mean nothing.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "cuda/device/device_buffer.h"

namespace pc::bench {
namespace {

// Enough that starting a copy, some microseconds, does not count beside it.
constexpr int kCopiesOnDevice = 20, kCopiesOverLink = 2;

struct Setting {
  std::size_t bytes = std::size_t{1024} << 20;
  int repeat = 5;
};

Result<Setting> parse(int argc, char** argv) {
  Setting a;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    const int value = i + 1 < argc ? std::atoi(argv[i + 1]) : 0;
    if (value <= 0 || (name != "--mib" && name != "--repeat"))
      return error(Code::kInvalidArgument, "usage: device_bandwidth [--mib N] [--repeat N]");
    if (name == "--mib")
      a.bytes = static_cast<std::size_t>(value) << 20;
    else
      a.repeat = value;
  }
  return a;
}

// GB/s of `copies` copies one after the other, [repeat]; `moved` bytes are moved by each.
Result<std::vector<double>> measure(void* to, const void* from, const Setting& a,
                                    cudaMemcpyKind kind, int copies, std::size_t moved) {
  using Clock = std::chrono::steady_clock;
  PC_TRY(const cuda::Stream stream, cuda::make_stream());
  std::vector<double> all;
  for (int i = 0; i <= a.repeat; ++i) {
    const Clock::time_point begin = Clock::now();
    for (int n = 0; n < copies; ++n)
      PC_CHECK_OK(cuda::check(cudaMemcpyAsync(to, from, a.bytes, kind, stream.get()), "copying"));
    PC_CHECK_OK(cuda::check(cudaStreamSynchronize(stream.get()), "copying"));
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (i > 0) all.push_back(static_cast<double>(moved) * copies / seconds / 1e9);
  }
  return Result<std::vector<double>>(std::move(all));
}

void print(const char* key, const std::vector<double>& values) {
  std::printf("\"%s\":[", key);
  for (std::size_t i = 0; i < values.size(); ++i)
    std::printf("%s%.3f", i == 0 ? "" : ",", values[i]);
  std::printf("],");
}

Status run(int argc, char** argv) {
  PC_TRY(const Setting a, parse(argc, argv));
  cudaDeviceProp device{};
  PC_CHECK_OK(cuda::check(cudaSetDevice(0), "choosing the device"));
  PC_CHECK_OK(cuda::check(cudaGetDeviceProperties(&device, 0), "looking at the device"));
  PC_TRY(const auto one, cuda::DeviceBuffer<std::byte>::make(a.bytes));
  PC_TRY(const auto other, cuda::DeviceBuffer<std::byte>::make(a.bytes));
  PC_TRY(const auto host, cuda::PinnedBuffer<std::byte>::make(a.bytes));
  PC_CHECK_OK(cuda::check(cudaMemset(one.data(), 1, a.bytes), "filling memory"));
  std::fill_n(host.data(), a.bytes, std::byte{1});
  PC_TRY(
      const std::vector<double> on_device,
      measure(other.data(), one.data(), a, cudaMemcpyDeviceToDevice, kCopiesOnDevice, 2 * a.bytes));
  PC_TRY(const std::vector<double> over_link,
         measure(one.data(), host.data(), a, cudaMemcpyHostToDevice, kCopiesOverLink, a.bytes));
  std::printf("{");
  print("device_gb_per_s", on_device);
  print("link_gb_per_s", over_link);
  std::printf("\"device\":\"%s\"}\n", device.name);
  return ok();
}

}  // namespace
}  // namespace pc::bench

int main(int argc, char** argv) {
  const pc::Status status = pc::bench::run(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "device_bandwidth: %s\n", status.error().message.c_str());
  return 1;
}
