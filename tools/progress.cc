#include "tools/progress.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "tools/terminal.h"

namespace pc::cli {
namespace {

constexpr std::size_t kBarColumns = 24;
constexpr std::size_t kNameColumns = 36;  // "encoding [bar] 1000/1000 name" stays below 80
constexpr char kClearLine[] = "\r\033[K";

}  // namespace

Progress::Progress(bool quiet) : quiet_(quiet), bar_(is_terminal(stderr)) {}

Progress::~Progress() {
  if (drawn_) std::fputs(kClearLine, stderr);
}

void Progress::show(std::uint32_t done, std::uint32_t total, std::string_view module) {
  if (quiet_) return;
  const std::string name = module.empty() ? "(anonymous text)" : printable(module);
  if (!bar_) {
    std::fprintf(stderr, "%u/%u %s\n", done, total, name.c_str());
    return;
  }
  std::string bar(kBarColumns, '.');
  const std::size_t full = total == 0 ? kBarColumns : kBarColumns * std::uint64_t{done} / total;
  std::fill_n(bar.begin(), std::min(full, kBarColumns), '#');
  std::fprintf(stderr, "%sencoding [%s] %u/%u %s", kClearLine, bar.c_str(), done, total,
               elide(name, kNameColumns).c_str());
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace pc::cli
