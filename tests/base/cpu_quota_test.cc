// CPU quotas of control groups, as kernels and container engines lay them out.

#include <sched.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <string>

#include "base/parallel.h"
#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

constexpr const char* kV2Mount =
    "23 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

// A machine's /proc and /sys, as far as quotas go.
struct Machine {
  TempFolder folder;

  Machine(std::string_view groups, std::string_view mounts) {
    write("/proc/self/cgroup", groups);
    write("/proc/self/mountinfo", mounts);
  }
  const Machine& write(const std::string& path, std::string_view text) const {
    std::filesystem::create_directories(std::filesystem::path(folder.path() + path).parent_path());
    folder.write(path, text);
    return *this;
  }
  double cpus() const { return cgroup_cpus(folder.path()); }
};

TEST_CASE("a group of version 2") {
  const Machine machine("0::/user.slice/app\n", kV2Mount);
  CHECK(machine.cpus() == HUGE_VAL);
  machine.write("/sys/fs/cgroup/user.slice/app/cpu.max", "max 100000\n");
  CHECK(machine.cpus() == HUGE_VAL);
  machine.write("/sys/fs/cgroup/user.slice/app/cpu.max", "150000 100000\n");
  CHECK(machine.cpus() == 1.5);
  SECTION("one above it may grant less") {
    machine.write("/sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n");
    CHECK(machine.cpus() == 0.5);
  }
  SECTION("or more") {
    machine.write("/sys/fs/cgroup/user.slice/cpu.max", "400000 100000\n");
    CHECK(machine.cpus() == 1.5);
  }
  SECTION("a group beside it does not matter") {
    machine.write("/sys/fs/cgroup/user.slice/other/cpu.max", "10000 100000\n");
    CHECK(machine.cpus() == 1.5);
  }
}

TEST_CASE("a container that sees its own group as the root") {
  for (const char* group : {"0::/\n", "0::/../..\n"}) {
    const Machine machine(group, kV2Mount);
    machine.write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    CHECK(machine.cpus() == 2.0);
  }
}

TEST_CASE("a group of version 1") {
  const Machine machine("5:cpu,cpuacct:/docker/1f\n3:cpuset:/other\n1:name=systemd:/\n",
                        "30 25 0:27 /docker/1f /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n"
                        "32 25 0:28 /docker/1f /sys/fs/cgroup/cpu,cpuacct ro,nosuid master:11 - "
                        "cgroup cgroup rw,cpu,cpuacct\n");
  const std::string folder = "/sys/fs/cgroup/cpu,cpuacct";
  machine.write(folder + "/cpu.cfs_quota_us", "-1\n")
      .write(folder + "/cpu.cfs_period_us", "1000\n");
  CHECK(machine.cpus() == HUGE_VAL);
  machine.write(folder + "/cpu.cfs_quota_us", "3000\n");
  CHECK(machine.cpus() == 3.0);
}

TEST_CASE("a group of version 1 below the one that is mounted") {
  const Machine machine("4:cpu:/a/b\n", "32 25 0:28 / /cg/a\\040b rw - cgroup cgroup rw,cpu\n");
  machine.write("/cg/a b/a/b/cpu.cfs_quota_us", "100000")
      .write("/cg/a b/a/b/cpu.cfs_period_us", "100000");
  machine.write("/cg/a b/a/cpu.cfs_quota_us", "50000")
      .write("/cg/a b/a/cpu.cfs_period_us", "200000");
  CHECK(machine.cpus() == 0.25);
}

TEST_CASE("both versions at once: version 2 without the controller") {
  const Machine machine("1:cpu:/x\n0::/x\n",
                        "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
                        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  machine.write("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "70000");
  machine.write("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000");
  CHECK(machine.cpus() == Approx(0.7));
}

TEST_CASE("what cannot be read or makes no sense is no quota") {
  CHECK(cgroup_cpus("/nowhere") == HUGE_VAL);
  for (const char* text : {"", "\n", "100000", "0 100000", "100000 0", "x y", "-5 10"}) {
    const Machine machine("garbage\n0::/\n", std::string("1 2 3\n\n- - -\n") + kV2Mount);
    machine.write("/sys/fs/cgroup/cpu.max", text);
    CHECK(machine.cpus() == HUGE_VAL);
  }
}

TEST_CASE("threads follow the affinity mask") {
  cpu_set_t before;
  CPU_ZERO(&before);
  REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
  const std::uint32_t all = usable_threads();
  CHECK((all >= 1 && all <= static_cast<std::uint32_t>(CPU_COUNT(&before))));
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(usable_threads() == 1);
  REQUIRE(::sched_setaffinity(0, sizeof before, &before) == 0);
  CHECK(usable_threads() == all);
}

}  // namespace
}  // namespace pc::test
