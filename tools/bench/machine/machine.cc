#include "tools/bench/machine/machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <system_error>
#include <vector>

#include "tools/output/sizes.h"

namespace pc::cli {
namespace {

constexpr std::size_t kBytes = std::size_t{512} << 20, kLeastBytesOfThread = std::size_t{16} << 20;
constexpr std::size_t kTries = 9;
constexpr std::size_t kSums = 16;  // side by side, so that no addition waits for the one before

std::uint64_t sum_of(std::span<const std::uint64_t> words) {
  std::array<std::uint64_t, kSums> sums{};
  for (std::size_t i = 0; i + kSums <= words.size(); i += kSums)
    for (std::size_t j = 0; j < kSums; ++j) sums[j] += words[i + j];
  std::uint64_t sum = 0;
  for (const std::uint64_t s : sums) sum += s;
  return sum;
}

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

struct Free {
  void operator()(std::uint64_t* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::uint64_t, Free>;

// Not touched yet, so that each thread's part comes to lie beside it; in large pages where the
// kernel gives them, as the library asks for its own mappings.
Memory memory_of(std::size_t bytes) {
  constexpr std::size_t kPage = std::size_t{2} << 20;
  const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
  Memory memory(static_cast<std::uint64_t*>(std::aligned_alloc(kPage, whole)));
  if (!memory) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  ::madvise(memory.get(), whole, MADV_HUGEPAGE);  // a wish: without it the pages are small
#endif
  return memory;
}

// Seconds in which all threads have read their parts once: the least of kTries.
double read_seconds(std::uint32_t threads, std::size_t words_of_thread) {
  using Clock = std::chrono::steady_clock;
  std::vector<Clock::time_point> together;  // when the last had come, and before any goes on
  together.reserve(2 * kTries);
  std::barrier meet(threads, [&]() noexcept { together.push_back(Clock::now()); });
  std::atomic<std::uint64_t> total{0};  // keeps the loops alive
  // For all at once: a thread that could not get its part would leave the others waiting.
  const Memory memory = memory_of(words_of_thread * threads * sizeof(std::uint64_t));
  const auto read = [&](std::uint32_t thread) {
    const std::span words(memory.get() + thread * words_of_thread, words_of_thread);
    std::fill(words.begin(), words.end(), 1);
    for (std::size_t i = 0; i < kTries; ++i) {
      meet.arrive_and_wait();
      total += sum_of(words);
      meet.arrive_and_wait();
    }
  };
  std::vector<std::future<void>> others;
  for (std::uint32_t t = 1; t < threads; ++t)
    others.push_back(std::async(std::launch::async, read, t));
  read(0);
  double least = 1e30;
  for (std::size_t i = 0; i < 2 * kTries; i += 2)
    least = std::min(least, std::chrono::duration<double>(together[i + 1] - together[i]).count());
  return least;
}

}  // namespace

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != line.npos) return line.substr(colon + 2);
  }
  return "unknown";
}

// A cache is told by the CPUs that share it. The last level of one CPU is that of all.
std::uint64_t cache_bytes_of(const std::string& cpus) {
  std::error_code unreadable;
  std::map<std::string, std::map<std::string, std::uint64_t>> levels;
  for (const auto& cpu : std::filesystem::directory_iterator(cpus, unreadable)) {
    for (const auto& cache :
         std::filesystem::directory_iterator(cpu.path() / "cache", unreadable)) {
      const auto bytes = parse_size(first_line(cache.path() / "size"));
      const std::string sharers = first_line(cache.path() / "shared_cpu_list");
      if (bytes && !sharers.empty()) levels[first_line(cache.path() / "level")][sharers] = *bytes;
    }
  }
  std::uint64_t sum = 0;
  if (!levels.empty())
    for (const auto& [sharers, bytes] : levels.rbegin()->second) sum += bytes;
  return sum;
}

Machine measure_machine(std::uint32_t threads) {
  const std::size_t words = std::max(kBytes / threads, kLeastBytesOfThread) / sizeof(std::uint64_t);
  const double bytes = static_cast<double>(words * sizeof(std::uint64_t)) * threads;
  return {cpu_name(), cache_bytes_of("/sys/devices/system/cpu"),
          bytes / read_seconds(threads, words)};
}

}  // namespace pc::cli
