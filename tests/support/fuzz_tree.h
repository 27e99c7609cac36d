// A tree of odd files that an input describes, below one folder: what fuzz targets give to code
// that opens files.
//
// Whatever cannot be made (a name that is taken by a file, a mode that forbids it) is not there,
// which is one more tree. Nothing outside the folder is written; links may point there.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "tests/support/fuzz_bytes.h"

namespace pc::test {

class FuzzTree {
 public:
  explicit FuzzTree(std::string root) : root_(std::move(root)) { ::mkdir(root_.c_str(), 0700); }
  ~FuzzTree() {
    for (const std::string& path : folders_) open_up(path);
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  FuzzTree(const FuzzTree&) = delete;
  FuzzTree& operator=(const FuzzTree&) = delete;

  const std::string& root() const { return root_; }

  // A component that cannot leave its folder.
  static std::string name_of(std::string_view bytes) {
    std::string name(bytes);
    for (char& c : name)
      if (c == '/' || c == '\0') c = '_';
    return name.empty() || name == "." || name == ".." ? "_" : name;
  }

  // Each puts something in the place of what has that path below the root, if anything. Folders
  // above it are made.
  void folder(const std::string& path, mode_t mode) {
    if (!make_way(path)) return;
    ::mkdir(at(path).c_str(), 0700);
    ::chmod(at(path).c_str(), mode);
    folders_.push_back(path);
  }
  void fifo(const std::string& path) {
    if (make_way(path)) ::mkfifo(at(path).c_str(), 0600);
  }
  void link(const std::string& path, const std::string& target) {
    if (make_way(path)) (void)!::symlink(target.c_str(), at(path).c_str());
  }
  // Another name of a file below the root.
  void second_name(const std::string& path, const std::string& of) {
    struct stat st {};
    if (!is_inside(of) || ::lstat(at(of).c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return;
    if (path == of) return;
    if (make_way(path)) (void)!::link(at(of).c_str(), at(path).c_str());
  }
  // size: of the file, a hole behind the bytes; 0: theirs.
  void file(const std::string& path, std::string_view bytes, mode_t mode, std::uint64_t size = 0) {
    if (!make_way(path)) return;
    const int fd =
        ::open(at(path).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return;
    (void)!::write(fd, bytes.data(), bytes.size());
    if (size > bytes.size()) (void)!::ftruncate(fd, static_cast<off_t>(size));
    ::fchmod(fd, mode);
    ::close(fd);
  }
  void set_time(const std::string& path, std::int64_t seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    if (is_inside(path)) ::utimensat(AT_FDCWD, at(path).c_str(), times, AT_SYMLINK_NOFOLLOW);
  }

 private:
  std::string at(const std::string& path) const { return root_ + "/" + path; }

  // No folder of the path is a link, which would lead outside.
  bool is_inside(const std::string& path, bool make = false) const {
    for (std::size_t cut = path.find('/'); cut != path.npos; cut = path.find('/', cut + 1)) {
      struct stat st {};
      if (make) ::mkdir(at(path.substr(0, cut)).c_str(), 0700);
      if (::lstat(at(path.substr(0, cut)).c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) return false;
    }
    return true;
  }
  // A folder that was made, unless something else has its name by now.
  void open_up(const std::string& path) const {
    struct stat st {};
    if (is_inside(path) && ::lstat(at(path).c_str(), &st) == 0 && S_ISDIR(st.st_mode))
      ::chmod(at(path).c_str(), 0700);
  }
  bool make_way(const std::string& path) {
    if (!is_inside(path, /*make=*/true)) return false;
    std::error_code ignored;
    std::filesystem::remove_all(at(path), ignored);
    return true;
  }

  const std::string root_;
  std::vector<std::string> folders_;  // whose modes may forbid to remove what is in them
};

// Does a file or folder still have the bytes, the names and the attributes that it had? By the
// times that every such change sets.
class Untouched {
 public:
  explicit Untouched(std::string path) : path_(std::move(path)), before_(look()) {}
  bool holds() const {
    const struct stat now = look();
    return now.st_ino == before_.st_ino && now.st_mode == before_.st_mode &&
           now.st_size == before_.st_size && now.st_nlink == before_.st_nlink &&
           same(now.st_mtim, before_.st_mtim) && same(now.st_ctim, before_.st_ctim);
  }

 private:
  static bool same(const timespec& a, const timespec& b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
  }
  struct stat look() const {
    struct stat st {};
    require(::lstat(path_.c_str(), &st) == 0);
    return st;
  }
  const std::string path_;
  const struct stat before_;
};

}  // namespace pc::test
