#include "tools/opening/memory_limit.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/support/temp_folder.h"

using namespace pc::cli;

namespace {

constexpr std::uint64_t kNone = UINT64_MAX;

// A file system with the groups of a process, made up.
class Tree {
 public:
  Tree& write(const std::string& path, const std::string& text) {
    const auto file = std::filesystem::path(folder_.path() + path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
    return *this;
  }
  std::uint64_t bytes() const { return group_memory_bytes(folder_.path()); }

 private:
  const pc::test::TempFolder folder_;
};

const char* const kMountOf2 = "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw";
const char* const kMountOf1 =
    "31 20 0:27 / /sys/fs/cgroup/cpu rw shared:4 - cgroup cgroup rw,cpu,cpuacct\n"
    "32 20 0:28 / /sys/fs/cgroup/memory rw shared:5 - cgroup cgroup rw,memory";

}  // namespace

TEST_CASE("a process without groups, or in groups without limits, has the machine's memory") {
  CHECK(Tree().bytes() == kNone);
  Tree tree;
  tree.write("/proc/self/cgroup", "0::/a").write("/proc/self/mountinfo", kMountOf2);
  CHECK(tree.bytes() == kNone);
  tree.write("/sys/fs/cgroup/a/memory.max", "max");
  CHECK(tree.bytes() == kNone);
  CHECK(tree.write("/sys/fs/cgroup/a/memory.max", "nonsense").bytes() == kNone);
}

TEST_CASE("the least limit of a group and those around it counts, in version 2") {
  Tree tree;
  tree.write("/proc/self/cgroup", "0::/a/b/c").write("/proc/self/mountinfo", kMountOf2);
  tree.write("/sys/fs/cgroup/a/memory.max", "700");
  tree.write("/sys/fs/cgroup/a/b/memory.max", "max");
  tree.write("/sys/fs/cgroup/a/b/c/memory.max", "900");
  CHECK(tree.bytes() == 700);
  CHECK(tree.write("/sys/fs/cgroup/a/b/c/memory.max", "629145600").bytes() == 700);
  CHECK(tree.write("/sys/fs/cgroup/a/b/memory.max", "600").bytes() == 600);
  CHECK(tree.write("/sys/fs/cgroup/memory.max", "500").bytes() == 500);
}

TEST_CASE("the least limit of a group and those around it counts, in version 1") {
  Tree tree;
  tree.write("/proc/self/cgroup", "12:cpu,cpuacct:/x\n7:memory:/a/b\n0::/y");
  tree.write("/proc/self/mountinfo", kMountOf1);
  tree.write("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712");
  CHECK(tree.bytes() == 9223372036854771712u);  // more than any machine has
  CHECK(tree.write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "800").bytes() == 800);
  CHECK(tree.write("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1").bytes() == 800);
  CHECK(tree.write("/sys/fs/cgroup/cpu/x/memory.limit_in_bytes", "1").bytes() == 800);
}

TEST_CASE("a container sees its own group where the mount is, by whatever path it has outside") {
  Tree tree;
  tree.write("/proc/self/cgroup", "5:memory:/docker/0a1b");
  tree.write("/proc/self/mountinfo",
             "9 8 0:2 /docker/0a1b /sys/my\\040groups ro - cgroup cgroup rw,memory");
  tree.write("/sys/my groups/memory.limit_in_bytes", "600");
  CHECK(tree.bytes() == 600);
  CHECK(tree.write("/proc/self/cgroup", "5:memory:/docker/0a1b/inner").bytes() == 600);
  CHECK(tree.write("/sys/my groups/inner/memory.limit_in_bytes", "500").bytes() == 500);
  CHECK(tree.write("/proc/self/cgroup", "5:memory:/../elsewhere").bytes() == 600);
}

TEST_CASE("of both versions beside each other the lesser limit counts") {
  Tree tree;
  tree.write("/proc/self/cgroup", "7:memory:/a\n0::/b");
  tree.write(
      "/proc/self/mountinfo",
      "33 20 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" + std::string(kMountOf1));
  tree.write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "300");
  CHECK(tree.write("/sys/fs/cgroup/unified/b/memory.max", "400").bytes() == 300);
  CHECK(tree.write("/sys/fs/cgroup/unified/b/memory.max", "200").bytes() == 200);
}

TEST_CASE("the real limit is no more than the machine's memory") {
  CHECK(usable_memory_bytes() > 0);
  CHECK(usable_memory_bytes() <= group_memory_bytes(""));
}
