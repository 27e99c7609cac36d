// How far encoding has come, on the standard error: a bar that redraws itself
// on a terminal, a line a module elsewhere, nothing when quiet.
// Thread-compatible.
#pragma once

#include <cstdint>
#include <string_view>

namespace pc::cli {

class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress();  // takes the bar away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of `total` modules are stored; `module` is the latest.
  void show(std::uint32_t done, std::uint32_t total, std::string_view module);

 private:
  bool quiet_, bar_, drawn_ = false;
};

}  // namespace pc::cli
