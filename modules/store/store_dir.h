// The store's directories on disk: where things lie, and how to open them
// without trusting what lies there.
//
// Every name inside is generated from a key; directories are held open and
// files are opened relative to them, following no link, so that nobody can
// lead the store elsewhere by renaming. Internal to modules/.
// Threads: const after opening, any thread.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "modules/module_key.h"
#include "modules/store/unique_fd.h"

namespace pc {

struct StoreDir {
  std::string path;
  bool writable = false;
  uid_t owner = 0;   // of the directory: may own files beside us and root
  UniqueFd objects;  // closed where the directory does not exist (read-only, new)
  UniqueFd used;     // the same
  UniqueFd locks;    // the rest only where writable
  UniqueFd quarantine;
  UniqueFd tmp;
};

// Creates what is missing (0700) unless read_only. A directory that exists
// but cannot be written opens as not writable.
Result<StoreDir> open_store_dir(const std::string& path, bool read_only);

// "<64 hex>.module", and back: nothing else is a key.
std::string object_name(const ModuleKey& key);
std::optional<ModuleKey> key_of_object_name(std::string_view name);

// An object opened for reading, with what the file system says of it.
struct OpenObject {
  UniqueFd fd;
  struct stat st {};
};

// kNotFound; kIo for anything but a regular file that belongs to us, to root
// or to the directory's owner and that nobody else may write.
Result<OpenObject> open_object(const StoreDir& dir, const ModuleKey& key);

// The same for any name in an open directory; `owner` may own files beside us
// and root, `path` is for messages.
Result<OpenObject> open_trusted(int dir_fd, const std::string& name, const std::string& path,
                                uid_t owner);

// Calls `visit` with each name in an open directory, "." and ".." excepted.
Status for_each_name(int dir_fd, const std::function<void(const char*)>& visit);

// "<what> <path>: <the system's reason>", kNotFound for ENOENT, otherwise kIo.
Error store_error(const std::string& what, const std::string& path, int errno_value);

}  // namespace pc
