#include "modules/store/lock_holder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string>

#include "modules/store/unique_fd.h"

namespace pc {
namespace {

// Cuts the next word off the front of a line.
std::string_view take_word(std::string_view* line) {
  line->remove_prefix(std::min(line->find_first_not_of(' '), line->size()));
  const std::string_view word = line->substr(0, line->find(' '));
  line->remove_prefix(word.size());
  return word;
}

template <class Number>
std::optional<Number> to_number(std::string_view word) {
  Number number = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (failure != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

// Files of /proc have no size: read until they end.
std::string read_whole(const char* path) {
  std::string text;
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> piece;
  while (fd) {
    const ssize_t n = ::read(fd.get(), piece.data(), piece.size());
    if (n <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(n));
  }
  return text;
}

}  // namespace

// 1: FLOCK  ADVISORY  WRITE 1234 08:01:123456 0 EOF
// Those who wait for it have "->" before "FLOCK".
std::optional<pid_t> find_holder(std::string_view locks, dev_t device, ino_t inode) {
  std::array<char, 64> file;
  const int n = std::snprintf(file.data(), file.size(), "%02x:%02x:%llu", major(device),
                              minor(device), static_cast<unsigned long long>(inode));
  while (!locks.empty()) {
    std::string_view line = locks.substr(0, locks.find('\n'));
    locks.remove_prefix(std::min(line.size() + 1, locks.size()));
    take_word(&line);  // the number of the line
    if (take_word(&line) != "FLOCK") continue;
    take_word(&line), take_word(&line);
    const auto pid = to_number<pid_t>(take_word(&line));
    if (take_word(&line) == std::string_view(file.data(), static_cast<std::size_t>(n))) return pid;
  }
  return std::nullopt;
}

// 1234 (a name (with) anything) S 1 ...: the 14th and 15th fields are the user's and the
// system's ticks, the 3rd is the first behind the name.
std::optional<std::uint64_t> cpu_ticks(std::string_view stat) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == stat.npos) return std::nullopt;
  stat.remove_prefix(name_end + 1);
  for (int field = 3; field < 14; ++field) take_word(&stat);
  const auto user = to_number<std::uint64_t>(take_word(&stat));
  const auto system = to_number<std::uint64_t>(take_word(&stat));
  if (!user || !system) return std::nullopt;
  return *user + *system;
}

std::optional<std::uint64_t> holder_ticks(int fd) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return std::nullopt;
  const auto pid = find_holder(read_whole("/proc/locks"), st.st_dev, st.st_ino);
  if (!pid || *pid <= 0) return std::nullopt;
  return cpu_ticks(read_whole(("/proc/" + std::to_string(*pid) + "/stat").c_str()));
}

}  // namespace pc
