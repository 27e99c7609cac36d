#include "runtime/cpu/chunk_size.h"

#include <fstream>

namespace pc {
namespace {

// "32768K"; the kernel writes kibibytes. 0 for anything else.
std::size_t read_size(const std::string& path) {
  std::ifstream file(path);
  std::size_t kib = 0;
  char unit = 0;
  return file >> kib >> unit && unit == 'K' ? kib * 1024 : 0;
}

}  // namespace

std::uint32_t chunk_tokens(std::size_t row_bytes, std::size_t cache_bytes) {
  std::uint32_t n = kMostChunkTokens;
  while (cache_bytes != 0 && n > kLeastChunkTokens && n * row_bytes > cache_bytes) n /= 2;
  return n;
}

std::size_t last_cache_bytes(const std::string& root) {
  std::size_t last = 0;
  for (int index = 0;; ++index) {  // in rising order of level
    const std::size_t bytes = read_size(root + "/sys/devices/system/cpu/cpu0/cache/index" +
                                        std::to_string(index) + "/size");
    if (bytes == 0) return last;
    last = bytes;
  }
}

}  // namespace pc
