#include "tools/bench/machine/process_place.h"

#include <sched.h>
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <thread>

#include "tools/output/failure.h"

using namespace pc::cli;

namespace {

int exit_code(const std::string& mask) {
  try {
    run_on_cpus(mask);
  } catch (const Failure& failure) {
    return failure.exit_code;
  }
  return 0;
}

}  // namespace

TEST_CASE("a mask that is none is refused, and one without a CPU asks for nothing") {
  for (const std::string mask : {"", "0x", "cpu", "0xg", "-1"}) CHECK(exit_code(mask) == kUsage);
  CHECK(exit_code(std::string(4096, 'f')) == kUsage);
  CHECK(exit_code("0x0") == 0);
}

TEST_CASE("a process runs on the CPUs of its mask") {
  cpu_set_t mine;
  REQUIRE(sched_getaffinity(0, sizeof mine, &mine) == 0);
  int first = 0;
  while (!CPU_ISSET(first, &mine)) ++first;
  std::string digits(static_cast<std::size_t>(first / 4), '0');
  digits.insert(0, 1, "1248"[first % 4]);
  cpu_set_t now;
  // A thread of its own, whose place goes with it.
  std::thread([&] {
    run_on_cpus("0x" + digits);
    sched_getaffinity(0, sizeof now, &now);
  }).join();
  CHECK(CPU_COUNT(&now) == 1);
  CHECK(CPU_ISSET(first, &now));
}

TEST_CASE("CPUs that are not there are an error that says where to look") {
  const std::string far = "8" + std::string(200, '0');  // CPU 803
  std::thread([&] { CHECK(exit_code(far) == kFailure); }).join();
}

TEST_CASE("a low priority is a nice value above that of others, and 0 leaves what there is") {
  const int before = getpriority(PRIO_PROCESS, 0);
  if (before > 5) return;  // lower already, and not everybody may go back
  int kept = 0, low = 0;
  std::thread([&] {  // has a nice value of its own, which goes with it
    set_priority(0);
    kept = getpriority(PRIO_PROCESS, 0);
    set_priority(-1);
    low = getpriority(PRIO_PROCESS, 0);
  })
      .join();
  CHECK(kept == before);
  CHECK(low == 5);
}
