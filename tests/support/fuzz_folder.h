// A folder of a fuzz target's own, in memory where the system has such a file system: targets that
// open files do so thousands of times a second. Removed when the program ends.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "tests/support/fuzz_bytes.h"

namespace pc::test {

class FuzzFolder {
 public:
  FuzzFolder() {
    std::error_code ignored;
    const bool memory = std::filesystem::is_directory("/dev/shm", ignored);
    for (const std::string& parent : {std::string(memory ? "/dev/shm" : "/tmp"),
                                      std::filesystem::temp_directory_path().string()}) {
      std::string name = parent + "/pc_fuzz_XXXXXX";
      if (::mkdtemp(name.data()) == nullptr) continue;
      path_ = name;
      return;
    }
    require(false);
  }
  ~FuzzFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FuzzFolder(const FuzzFolder&) = delete;
  FuzzFolder& operator=(const FuzzFolder&) = delete;

  const std::string& path() const { return path_; }

  static void write(const std::string& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::string path_;
};

}  // namespace pc::test
