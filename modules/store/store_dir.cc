#include "modules/store/store_dir.h"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "modules/format.h"  // kModuleVersion

namespace pc {
namespace {

constexpr std::string_view kSuffix = ".module";

void make_parents(const std::string& path) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    ::mkdir(path.substr(0, at).c_str(), 0700);
  }
}

// Where this fails, errno says why; for a directory that is missing because
// it could not be made, why that was.
UniqueFd open_directory(int parent, const char* name, bool create, int flags) {
  const int not_made = create && ::mkdirat(parent, name, 0700) != 0 ? errno : 0;
  UniqueFd fd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
  if (!fd && errno == ENOENT && not_made != 0) errno = not_made;
  return fd;
}

// Inside the store no link is followed; its own path may be one.
UniqueFd open_subdirectory(const UniqueFd& parent, const char* name, bool create) {
  return open_directory(parent.get(), name, create, O_NOFOLLOW);
}

Error cannot_open(const std::string& path, int errno_value) {
  Error failure = store_error("cannot open the store", path, errno_value);
  failure.message += "; choose another directory, or run without a store";
  return failure;
}

bool may_write(const UniqueFd& dir) {
  return ::faccessat(dir.get(), ".", W_OK | X_OK, AT_EACCESS) == 0;
}

}  // namespace

Error store_error(const std::string& what, const std::string& path, int errno_value) {
  // Not strerror: several threads may fail at once.
  return error(errno_value == ENOENT ? Code::kNotFound : Code::kIo,
               what + " " + path + ": " + std::generic_category().message(errno_value));
}

Result<StoreDir> open_store_dir(const std::string& path, bool read_only) {
  if (path.empty()) return error(Code::kInvalidArgument, "the store needs a directory");
  if (!read_only) make_parents(path);
  const UniqueFd root = open_directory(AT_FDCWD, path.c_str(), !read_only, 0);
  if (!root) return cannot_open(path, errno);

  // The format's version is part of the path, so that builds of two versions
  // can share one directory.
  std::string name(1, 'v');
  name += std::to_string(kModuleVersion);
  StoreDir dir;
  dir.path = path + "/" + name;
  const UniqueFd version = open_subdirectory(root, name.c_str(), !read_only);
  if (!version && read_only && errno == ENOENT) return dir;
  struct stat st {};
  if (!version || ::fstat(version.get(), &st) != 0) return cannot_open(dir.path, errno);
  dir.owner = st.st_uid;

  dir.objects = open_subdirectory(version, "objects", !read_only);
  if (!dir.objects && read_only && errno == ENOENT) return dir;
  if (!dir.objects) return cannot_open(dir.path + "/objects", errno);
  dir.used = open_subdirectory(version, "used", !read_only);
  if (read_only || !may_write(dir.objects)) return dir;
  dir.locks = open_subdirectory(version, "locks", true);
  dir.quarantine = open_subdirectory(version, "quarantine", true);
  dir.tmp = open_subdirectory(version, "tmp", true);
  dir.writable = dir.used && dir.locks && dir.quarantine && dir.tmp;
  return dir;
}

std::string object_name(const ModuleKey& key) {
  return key.hex().append(kSuffix);
}

std::optional<ModuleKey> key_of_object_name(std::string_view name) {
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  const auto digest = from_hex(name);
  if (!digest) return std::nullopt;
  return ModuleKey{*digest};
}

Result<OpenObject> open_object(const StoreDir& dir, const ModuleKey& key) {
  const std::string path = dir.path + "/objects/" + object_name(key);
  if (!dir.objects) return store_error("cannot open", path, ENOENT);
  return open_trusted(dir.objects.get(), object_name(key), path, dir.owner);
}

Result<OpenObject> open_trusted(int dir_fd, const std::string& name, const std::string& path,
                                uid_t owner) {
  OpenObject object;
  // O_NONBLOCK: a FIFO under this name must not hang us; files ignore it.
  object.fd =
      UniqueFd(::openat(dir_fd, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!object.fd) return store_error("cannot open", path, errno);
  if (::fstat(object.fd.get(), &object.st) != 0) return store_error("cannot stat", path, errno);
  if (!S_ISREG(object.st.st_mode)) return error(Code::kIo, path + " is not a regular file");
  const uid_t uid = object.st.st_uid;
  if (uid != ::geteuid() && uid != owner && uid != 0) {
    return error(Code::kIo, path + " belongs to another user");
  }
  if ((object.st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return error(Code::kIo, path + " may be written by other users");
  }
  return object;
}

Status for_each_name(int dir_fd, const std::function<void(const char*)>& visit) {
  // A new description: readdir moves a position that must not be shared.
  const int fd = ::openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return store_error("cannot list", "the store", errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd), &::closedir);
  if (!stream) {
    ::close(fd);
    return error(Code::kOutOfMemory, "no memory to list the store");
  }
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (!entry && errno != 0) return store_error("cannot list", "the store", errno);
    if (!entry) return ok();
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") visit(entry->d_name);
  }
}

}  // namespace pc
