#include "pml/syntax/source_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "pml/syntax/names.h"

namespace pc::pml {
namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Error os_error(const std::string& shown, int number) {
  const Code code = number == ENOENT || number == ENOTDIR ? Code::kNotFound
                    : number == ENOMEM                    ? Code::kOutOfMemory
                                                          : Code::kIo;
  return error(code, "cannot read file " + shown + ": " + std::generic_category().message(number));
}

// Where a file below base_dir really is, all links followed: a folder, and a path below it without
// links.
struct RealPath {
  fs::path base, below;
};
Result<RealPath> locate(const std::string& base_dir, const std::string& relative) {
  const fs::path path(relative);
  const std::string shown = quote(relative);
  if (relative.empty()) return error(Code::kPmlSemantic, "src names no file");
  if (path.is_absolute())
    return error(Code::kPmlSemantic,
                 "src=" + shown + " is absolute; give a path beside the schema");
  for (const fs::path& part : path)
    if (part == "..")
      return error(Code::kPmlSemantic,
                   "src=" + shown + " contains '..'; a schema reads files of its own folder only");
  std::error_code failure;
  const fs::path base = fs::canonical(base_dir, failure);
  if (failure) return os_error(quote(base_dir), failure.value());
  const fs::path real = fs::canonical(base / path, failure);
  if (failure) return os_error(shown, failure.value());
  const auto [base_end, unused] = std::mismatch(base.begin(), base.end(), real.begin(), real.end());
  if (base_end != base.end())
    return error(Code::kPmlSemantic, "src=" + shown + " is a link that leaves the schema's folder");
  return RealPath{base, real.lexically_relative(base)};
}

// An open descriptor, or -1 and errno. Goes down name by name and follows no link, so that nobody
// who changes a folder into one after it was looked at leads us elsewhere.
Descriptor open_below(const RealPath& place) {
  Descriptor at(::open(place.base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (auto name = place.below.begin(); name != place.below.end() && at.get() >= 0; ++name) {
    const bool is_last = std::next(name) == place.below.end();
    // O_NONBLOCK: a FIFO must not keep us waiting before it is refused.
    const int flags = is_last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY;
    at = Descriptor(::openat(at.get(), name->c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  }
  return at;
}

Result<std::string> read_whole(const RealPath& place, const std::string& shown) {
  const Descriptor file = open_below(place);
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0) return os_error(shown, errno);
  if (!S_ISREG(info.st_mode)) return error(Code::kIo, "src=" + shown + " is not a regular file");
  std::string bytes;
  // One byte more than allowed, so that a file that grows is noticed too.
  bytes.resize(std::min(static_cast<std::size_t>(info.st_size), kMaxSourceFileBytes) + 1);
  constexpr int kMostInterrupts = 8;
  int n_interrupts = 0;
  std::size_t n = 0;
  for (;;) {
    const ssize_t got = ::read(file.get(), bytes.data() + n, bytes.size() - n);
    if (got < 0 && errno == EINTR && ++n_interrupts < kMostInterrupts) continue;
    if (got < 0) return os_error(shown, errno);
    n += static_cast<std::size_t>(got);
    if (got == 0) break;
    if (n == bytes.size()) {
      if (n > kMaxSourceFileBytes)
        return error(Code::kPmlSemantic, "file " + shown + " has more than " +
                                             std::to_string(kMaxSourceFileBytes) +
                                             " bytes; split it");
      bytes.resize(std::min(2 * n, kMaxSourceFileBytes + 1));
    }
  }
  bytes.resize(n);
  return bytes;
}

}  // namespace

ReadFileFn file_reader(std::string base_dir) {
  if (base_dir.empty()) base_dir = ".";
  return [base = std::move(base_dir)](const std::string& relative) -> Result<std::string> {
    PC_TRY(const RealPath place, locate(base, relative));
    return read_whole(place, quote(relative));
  };
}

}  // namespace pc::pml
