// Files that tests read: fixtures of the source tree, and outside data beside
// the repository that may be absent.
#pragma once

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace pc::test {

inline std::filesystem::path source_dir() {
  const char* dir = std::getenv("PC_SOURCE_DIR");
  return dir ? dir : ".";
}

// A fixture of tests/golden, made by a script there.
inline std::string golden(const std::string& name) {
  return (source_dir() / "tests/golden" / name).string();
}

// The outside data's folder, or "" with a printed message when it is absent.
inline std::filesystem::path shared_dir() {
  const char* dir = std::getenv("PC_SHARED_DIR");
  if (dir && std::filesystem::is_directory(dir)) return dir;
  std::printf("SKIPPED: the outside test data is not there (PC_SHARED_DIR=%s)\n", dir ? dir : "");
  return {};
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  INFO("reading " << path);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<float> read_floats(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace pc::test
