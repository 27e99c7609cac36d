#include "runtime/model/remembered_digest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <system_error>

#include "modules/store/unique_fd.h"

namespace pc {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "models";
constexpr std::size_t kHexDigits = 2 * sizeof(Digest);
// A record's time of modification is its last use, to the day.
constexpr std::int64_t kUseGrainS = 24 * 3600;
constexpr std::int64_t kUnusedS = 30 * kUseGrainS;

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::int64_t seconds_since(const timespec& then) {
  return ::time(nullptr) - std::int64_t{then.tv_sec};
}

std::string name_of(std::span<const MappedFile> files) {
  Sha256 hash;
  hash.field("promptcache files").field(kTensorScanVersion).field(std::uint64_t{files.size()});
  for (const MappedFile& file : files) {
    const auto& [device, inode, size_bytes, mtime_ns, ctime_ns] = file.identity();
    hash.field(device).field(inode).field(size_bytes);
    hash.field(static_cast<std::uint64_t>(mtime_ns)).field(static_cast<std::uint64_t>(ctime_ns));
  }
  return to_hex(hash.finish());
}

std::string record_text(const std::string& name, const std::string& digest) {
  std::string text = "promptcache tensors " + std::to_string(kTensorScanVersion);
  text += "\nfiles " + name + "\ndigest " + digest + "\n";
  text += "seal " + to_hex(sha256(std::as_bytes(std::span(text)))) + "\n";
  return text;
}

// The folder of the records, following no link below the cache directory.
struct Folder {
  UniqueFd fd;      // closed where there is none
  uid_t owner = 0;  // of the cache directory: may own records beside us and root
};

void make_directories(const std::string& path) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    ::mkdir(path.substr(0, at).c_str(), 0700);
  }
  ::mkdir(path.c_str(), 0700);
}

Folder open_folder(const DigestMemory& memory, bool create) {
  Folder folder;
  if (create) make_directories(memory.cache_dir);
  const UniqueFd root(::open(memory.cache_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat st {};
  if (!root || ::fstat(root.get(), &st) != 0) return folder;
  folder.owner = st.st_uid;
  if (create) ::mkdirat(root.get(), kFolder, 0700);
  folder.fd =
      UniqueFd(::openat(root.get(), kFolder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return folder;
}

bool is_trusted(const struct stat& st, const Folder& folder) {
  const bool ours = st.st_uid == ::geteuid() || st.st_uid == folder.owner || st.st_uid == 0;
  return S_ISREG(st.st_mode) && ours && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// The digest that a text records under this name.
std::optional<Digest> parse_record(const std::string& text, const std::string& name) {
  const std::size_t digits = text.find("\ndigest ");
  if (digits == std::string::npos) return std::nullopt;
  const std::string hex = text.substr(digits + 8, kHexDigits);
  return text == record_text(name, hex) ? from_hex(hex) : std::nullopt;
}

bool write_record(int folder_fd, const std::string& temporary, const std::string& text) {
  const UniqueFd fd(::openat(folder_fd, temporary.c_str(),
                             O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0400));
  return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Records, and what crashes left of them, that nobody used for long. Names
// that are not ours stay.
void sweep(const DigestMemory& memory, const Folder& folder) {
  std::error_code failed;
  for (fs::directory_iterator it(memory.cache_dir + "/" + kFolder, failed), end;
       !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename().string();
    struct stat st {};
    if (!from_hex(name.substr(0, kHexDigits)) ||
        ::fstatat(folder.fd.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    if (seconds_since(st.st_mtim) >= kUnusedS) ::unlinkat(folder.fd.get(), name.c_str(), 0);
  }
}

void remember(std::span<const MappedFile> files, const Digest& digest, const DigestMemory& memory) {
  static std::atomic<std::uint64_t> count{0};
  const Folder folder = open_folder(memory, true);
  if (!folder.fd) return;
  const std::string name = name_of(files);
  const std::string temporary =
      name + "." + std::to_string(::getpid()) + "." + std::to_string(count++);
  if (!write_record(folder.fd.get(), temporary, record_text(name, to_hex(digest))) ||
      ::renameat(folder.fd.get(), temporary.c_str(), folder.fd.get(), name.c_str()) != 0) {
    ::unlinkat(folder.fd.get(), temporary.c_str(), 0);
  }
  sweep(memory, folder);
}

bool is_settled(const MappedFile& file, std::int64_t before_ns) {
  return std::max(file.identity().mtime_ns, file.identity().ctime_ns) < before_ns;
}

}  // namespace

std::optional<Digest> recall_digest(std::span<const MappedFile> files, const DigestMemory& memory) {
  if (memory.cache_dir.empty() || files.empty()) return std::nullopt;
  const Folder folder = open_folder(memory, false);
  if (!folder.fd) return std::nullopt;
  const std::string name = name_of(files);
  const UniqueFd fd(
      ::openat(folder.fd.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat st {};
  if (!fd || ::fstat(fd.get(), &st) != 0 || !is_trusted(st, folder)) return std::nullopt;
  std::string text(512, '\0');  // longer than any record
  const ssize_t n = ::read(fd.get(), text.data(), text.size());
  text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  const auto digest = parse_record(text, name);
  if (digest && memory.writable && seconds_since(st.st_mtim) >= kUseGrainS) {
    ::futimens(fd.get(), nullptr);
  }
  return digest;
}

Result<Digest> tensor_digest(const Checkpoint& checkpoint, const DigestMemory& memory,
                             const ScanOptions& options) {
  if (const auto known = recall_digest(checkpoint.files, memory)) return *known;
  const std::int64_t settled_ns = now_ns() - memory.settle_ns;
  PC_TRY(const TensorScan scanned, scan_tensors(checkpoint.tensors, options));
  if (!scanned.not_finite.empty()) {
    const std::string& name = scanned.not_finite.front();
    return error(Code::kCorrupt, not_finite_sentence(name, checkpoint.tensors.at(name),
                                                     scanned.not_finite.size() - 1));
  }
  const bool sure = std::ranges::all_of(checkpoint.files, [&](const MappedFile& file) {
    return is_settled(file, settled_ns) && file.is_unchanged();
  });
  if (sure && memory.writable && !memory.cache_dir.empty())
    remember(checkpoint.files, scanned.digest, memory);
  return scanned.digest;
}

std::string not_finite_sentence(const std::string& name, const TensorView& view,
                                std::size_t n_more) {
  const std::string more = n_more ? " and " + std::to_string(n_more) + " more hold" : " holds";
  return view.file + ": tensor \"" + name + "\"" + more +
         " NaN or infinite numbers, with which nothing can be computed; get the file anew";
}

}  // namespace pc
