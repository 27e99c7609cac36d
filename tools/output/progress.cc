#include "tools/output/progress.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "tools/output/sizes.h"
#include "tools/output/terminal.h"

namespace pc::cli {
namespace {

constexpr std::size_t kBarColumns = 24;
constexpr std::size_t kNameColumns = 36;  // "encoding [bar] 1000/1000 name" stays below 80
constexpr char kClearLine[] = "\r\033[K";

std::string bar_of(std::uint64_t done, std::uint64_t total) {
  std::string bar(kBarColumns, '.');
  const std::size_t full = total == 0 ? kBarColumns : kBarColumns * done / total;
  std::fill_n(bar.begin(), std::min(full, kBarColumns), '#');
  return "[" + bar + "] ";
}

}  // namespace

Progress::Progress(bool quiet, std::string_view work)
    : quiet_(quiet), bar_(is_terminal(stderr)), work_(work) {}

Progress::~Progress() {
  if (!drawn_.empty()) std::fputs(kClearLine, stderr);
}

void Progress::show(std::uint32_t done, std::uint32_t total, std::string_view name) {
  if (quiet_) return;
  const std::string shown = name.empty() ? "(anonymous text)" : printable(name);
  const std::string count = std::to_string(done) + "/" + std::to_string(total) + " ";
  if (bar_)
    draw(work_ + " " + bar_of(done, total) + count + elide(shown, kNameColumns));
  else if (done != done_)
    std::fprintf(stderr, "%s%s\n", count.c_str(), shown.c_str());
  done_ = done;
}

void Progress::show_bytes(std::string_view step, std::uint64_t done, std::uint64_t total) {
  if (quiet_ || !bar_) return;
  const std::uint64_t percent = total == 0 ? 100 : done * 100 / total;
  draw(std::string(step) + " " + bar_of(done, total) + std::to_string(percent) + " % of " +
       format_size(total));
}

void Progress::draw(std::string_view line) {
  if (line == drawn_) return;
  drawn_ = line;
  std::fprintf(stderr, "%s%s", kClearLine, drawn_.c_str());
  std::fflush(stderr);
}

}  // namespace pc::cli
