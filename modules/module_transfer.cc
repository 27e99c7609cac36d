#include "modules/module_transfer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/mapped_file.h"
#include "modules/store/file_access.h"
#include "modules/store/unique_fd.h"

namespace pc {
namespace {

Error cannot_write(const std::string& path, int failure) {
  const Code code = failure == EEXIST ? Code::kInvalidArgument : Code::kIo;
  const std::string hint = failure == EEXIST ? "; remove it, or give another name" : "";
  return error(code, "cannot write " + path + ": " + std::strerror(failure) + hint);
}

}  // namespace

Status export_module(const ModuleStore& store, const ModuleKey& key, const std::string& path) {
  PC_TRY(const ModuleHandle module, store.verify(key));
  const UniqueFd fd(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
  if (!fd) return cannot_write(path, errno);
  int failure = write_all(fd.get(), 0, module->bytes());
  if (failure == 0 && ::fsync(fd.get()) != 0) failure = errno;
  if (failure == 0) return ok();
  ::unlink(path.c_str());
  return cannot_write(path, failure);
}

Result<ModuleKey> import_module(ModuleStore& store, const std::string& path) {
  PC_TRY(MappedFile mapped, MappedFile::open(path));
  const auto file = std::make_shared<const MappedFile>(std::move(mapped));
  auto module = ModuleFile::open(file->bytes(), PayloadCheck::kVerify, file);
  if (!module.ok()) {
    Error failure = std::move(module).error();
    failure.message += " (" + path + ")";
    return failure;
  }
  PC_TRY(const ModuleHandle published, store.publish(*module));
  return published->key();
}

}  // namespace pc
