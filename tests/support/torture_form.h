// The two forms of a long test: what ctest has time for, and all of it, which scripts/torture asks
// for and whose figures it reads.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace pc::test {

// PC_TORTURE=full; otherwise what ctest has time for.
inline bool is_full() {
  const char* torture = std::getenv("PC_TORTURE");
  return torture && std::string_view(torture) == "full";
}

// How often something is done: quick, full, or as PC_TORTURE_ROUNDS says. An emulated processor
// takes ten times as long.
inline int n_rounds(int quick, int full) {
  if (const char* wanted = std::getenv("PC_TORTURE_ROUNDS")) return std::max(0, std::atoi(wanted));
#ifdef PC_EMULATED
  quick = (quick + 9) / 10;
#endif
  return is_full() ? full : quick;
}

// For scripts/torture, which reads these lines: what was done, in numbers.
inline void say(const std::string& id, const std::string& what) {
  std::printf("torture %s: %s\n", id.c_str(), what.c_str());
  std::fflush(stdout);
}

}  // namespace pc::test
