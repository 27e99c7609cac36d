#include "tools/bench/machine/machine.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/support/temp_folder.h"

using namespace pc::cli;

namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text << "\n";
}

void add_cache(const std::filesystem::path& cpu, int index, const std::string& level,
               const std::string& size, const std::string& sharers) {
  const auto cache = cpu / "cache" / ("index" + std::to_string(index));
  write(cache / "level", level);
  write(cache / "size", size);
  write(cache / "shared_cpu_list", sharers);
}

}  // namespace

TEST_CASE("each last-level cache counts once, whoever shares it") {
  const pc::test::TempFolder folder;
  const std::filesystem::path cpus = folder.path();
  for (int cpu = 0; cpu < 4; ++cpu) {
    const auto dir = cpus / ("cpu" + std::to_string(cpu));
    const std::string self = std::to_string(cpu);
    add_cache(dir, 0, "1", "32K", self);
    add_cache(dir, 2, "2", "1024K", self);
    add_cache(dir, 3, "3", "16M", cpu < 2 ? "0-1" : "2-3");
  }
  write(cpus / "possible", "0-3");
  CHECK(cache_bytes_of(cpus.string()) == std::uint64_t{32} << 20);
}

TEST_CASE("a CPU without a third level has its second, and one that says nothing none") {
  const pc::test::TempFolder folder;
  const std::filesystem::path cpus = folder.path();
  CHECK(cache_bytes_of((cpus / "missing").string()) == 0);
  add_cache(cpus / "cpu0", 0, "1", "32K", "0");
  add_cache(cpus / "cpu0", 2, "2", "512K", "0");
  add_cache(cpus / "cpu1", 2, "2", "512K", "1");
  add_cache(cpus / "cpu2", 2, "2", "nonsense", "2");
  CHECK(cache_bytes_of(cpus.string()) == std::uint64_t{1} << 20);
}
