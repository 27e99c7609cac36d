// Files and folders that are opened without trusting what lies there, and all of
// their bytes read or written, however the system cuts the calls.
//
// Threads: any.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "base/status.h"
#include "modules/store/unique_fd.h"

namespace pc {

// A file opened for reading, with what the file system says of it.
struct OpenFile {
  UniqueFd fd;
  struct stat st {};
};

// Only files and folders that belong to us or to root, and that nobody else may write, are used:
// whoever could change them could lay attention states of other texts, or a copy of his own, there.
// kAnyones: of others, too, by a caller who checks what he reads by other means.
enum class Whose { kTrusted, kAnyones };

// Of an open file or folder: ok, or kIo that says who could change it.
Status check_trust(const struct stat& st, const std::string& path);

// kNotFound; kIo for anything but a regular file. `path` is for messages.
Result<OpenFile> open_regular(int dir_fd, const std::string& name, const std::string& path);
// The same, and kIo for what is not to be trusted.
Result<OpenFile> open_trusted(int dir_fd, const std::string& name, const std::string& path);

// A folder below an open one, by names with '/' between them: no link is followed, and each is to
// be trusted. Where `make`, what is missing is made, 0700. `root_path` is for messages.
Result<UniqueFd> open_below(const UniqueFd& root, const std::string& root_path,
                            std::string_view path, bool make, Whose whose = Whose::kTrusted);

// A folder by its path, which may be a link; where `make`, it and those above it are
// made, 0700. Itself is to be trusted; those above it are not looked at.
Result<UniqueFd> open_root(const std::string& path, bool make, Whose whose = Whose::kTrusted);

// Is there a regular file of this name? Then *st is what the file system says of it.
bool stat_file(int dir_fd, const std::string& name, struct stat* st);

// Calls `visit` with each name in an open folder, "." and ".." excepted.
Status for_each_name(int dir_fd, FunctionRef<void(const char* name)> visit);
// The same with each file's number, as the folder has it.
Status for_each_name(int dir_fd, FunctionRef<void(const char* name, ino_t inode)> visit);

// Reads exactly buffer.size() bytes. kCorrupt where the file ends before; kIo where the system does
// not read them, tried a few times: a bad moment is no damage.
Status read_exactly(int fd, std::uint64_t offset, std::span<std::byte> buffer);

// Writes all bytes at an offset. 0 or an errno: EIO where the system takes none of them.
int write_all(int fd, std::uint64_t offset, std::span<const std::byte> bytes);

// Takes the space of so many bytes on the disk. 0 or an errno, as of posix_fallocate.
int reserve(int fd, std::uint64_t n_bytes);

// "<what> <path>: <the system's reason>", kNotFound for ENOENT, otherwise kIo.
Error system_error(const std::string& what, const std::string& path, int errno_value);

std::int64_t now_ns();  // since 1970

}  // namespace pc
