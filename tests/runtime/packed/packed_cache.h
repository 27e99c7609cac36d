// A cache directory for files of packed weights, and what else happens to such files.
#pragma once

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/packed/packed_weights.h"
#include "tests/support/temp_folder.h"

namespace pc::test {

namespace fs = std::filesystem;

struct Cache {
  TempFolder folder;
  PackOptions options{.cache_dir = folder.path(), .writable = true, .settle = {}};

  Cache() { options.weights.fill(7); }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    const std::string path = folder.path() + "/packed";
    if (!fs::exists(path)) return found;
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.path().filename().string().size() == 64) found.push_back(entry.path());
    return found;
  }
  fs::path file() const {
    REQUIRE(files().size() == 1);
    return files().front();
  }
  // Nothing but the file, its stamp's folder and the lock.
  bool is_tidy() const {
    const fs::directory_iterator all(folder.path() + "/packed");
    return files().size() == 1 && std::distance(begin(all), end(all)) == 3;
  }
};

inline std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// As something other than the writer would: in place.
inline void rewrite(const fs::path& path, const std::string& text) {
  ::chmod(path.c_str(), 0600);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  ::chmod(path.c_str(), 0400);
}

inline ino_t inode(const fs::path& path) {
  struct stat st {};
  REQUIRE(::stat(path.c_str(), &st) == 0);
  return st.st_ino;
}

}  // namespace pc::test
