// What the kernel says of an address: mode and file of the mapping that it belongs to.
#pragma once

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

namespace pc::test {

struct Mapping {
  std::string mode;  // "r--s"
  std::string file;  // "" where it is no file's
};

inline Mapping mapping_of(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    char mode[5] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, mode) != 3) continue;
    if (address < begin || address >= end) continue;
    const std::size_t file = line.find('/');
    return {mode, file == std::string::npos ? "" : line.substr(file)};
  }
  return {};
}

}  // namespace pc::test
