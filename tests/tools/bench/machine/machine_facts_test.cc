#include "tools/bench/machine/machine_facts.h"

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

// Four CPUs on two cores of one socket, two on one of another, and one that is off. Cores are
// numbered in each socket, or cluster, anew.
void write_machine(const std::filesystem::path& root) {
  const auto cpus = root / "sys/devices/system/cpu";
  const char* const places[][3] = {{"0", "0", "0,2"}, {"0", "0", "1,3"}, {"0", "0", "0,2"},
                                   {"0", "0", "1,3"}, {"1", "0", "4-5"}, {"1", "0", "4-5"}};
  for (int cpu = 0; cpu < 6; ++cpu) {
    const auto topology = cpus / ("cpu" + std::to_string(cpu)) / "topology";
    write(topology / "physical_package_id", places[cpu][0]);
    write(topology / "core_id", places[cpu][1]);
    write(topology / "thread_siblings_list", places[cpu][2]);
  }
  std::filesystem::create_directories(cpus / "cpu6");
  write(cpus / "cpufreq/boost", "1");
  write(cpus / "cpu0/cpufreq/scaling_governor", "powersave");
  write(root / "proc/sys/kernel/osrelease", "6.1.0-test");
  write(root / "proc/meminfo", "MemTotal:       2048 kB\nHugePages_Total:       3");
  write(root / "proc/loadavg", "0.75 1.50 2.00 1/100 4242");
  write(root / "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
}

}  // namespace

TEST_CASE("a machine is read as its system describes it") {
  const pc::test::TempFolder folder;
  write_machine(folder.path());
  const MachineFacts facts = machine_facts(folder.path());
  CHECK(facts.n_cpus == 6);
  CHECK(facts.n_cores == 3);
  CHECK(facts.n_sockets == 2);
  CHECK(facts.kernel == "6.1.0-test");
  CHECK(facts.governor == "powersave");
  CHECK(facts.memory_bytes == 2048 * 1024);
  CHECK(facts.huge_pages == "madvise");
  CHECK(facts.n_huge_pages == 3);
  CHECK(load_average(folder.path()) == 0.75);
}

TEST_CASE("what the system does not say is not made up") {
  const pc::test::TempFolder folder;
  const MachineFacts facts = machine_facts(folder.path());
  CHECK(facts.n_cpus == 0);
  CHECK(facts.n_cores == 0);
  CHECK(facts.memory_bytes == 0);
  for (const std::string& text : {facts.kernel, facts.governor, facts.huge_pages})
    CHECK(text == "unknown");
  CHECK(!load_average(folder.path()));
}
