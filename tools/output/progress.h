// How far work on modules or measures, or the opening of a model, has come, on the
// standard error: a bar that redraws itself on a terminal; elsewhere a line a module
// or measure, and nothing of the opening; nothing when quiet.
// Thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pc::cli {

class Progress {
 public:
  // `work` stands before the bar.
  explicit Progress(bool quiet, std::string_view work = "encoding");
  ~Progress();  // takes the bar away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of `total` modules are stored; `name` is the latest, or the one in hand.
  void show(std::uint32_t done, std::uint32_t total, std::string_view name);

  // `done` of `total` bytes of a step ("reading the weights") are done.
  void show_bytes(std::string_view step, std::uint64_t done, std::uint64_t total);

 private:
  void draw(std::string_view line);

  bool quiet_, bar_;
  std::string work_;
  std::uint32_t done_ = 0;  // of those that have their line
  std::string drawn_;       // the line on the screen; "" = none
};

}  // namespace pc::cli
