#include "runtime/engine/backend_loader.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "modules/module_key.h"  // is_backend_name
#include "runtime/backend/cpu_backend.h"

namespace pc {
namespace {

Status check_file(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    return error(errno == ENOENT ? Code::kNotFound : Code::kIo,
                 "cannot load the backend " + path + ": " + std::generic_category().message(errno));
  }
  if (!S_ISREG(st.st_mode))
    return error(Code::kIo, "the backend " + path + " is not a regular file");
  const bool ours = st.st_uid == 0 || st.st_uid == ::geteuid();
  if (!ours || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return error(Code::kIo,
                 "the backend " + path +
                     " could have been changed by another user; it must belong to root or "
                     "to you and be writable by its owner only");
  }
  return ok();
}

}  // namespace

Status check_backend_name(const std::string& name) {
  if (name.empty() || name == "cpu" || name.front() == '/') return ok();
  return error(Code::kInvalidArgument,
               "unknown backend \"" + name + "\": say cpu, or the absolute path of a plug-in");
}

Result<const pc_backend_v1*> find_backend(const std::string& name) {
  PC_CHECK_OK(check_backend_name(name));
  if (name.empty() || name == "cpu") return cpu_backend();
  PC_CHECK_OK(check_file(name));
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return error(Code::kUnsupported, std::string("cannot load the backend: ") + ::dlerror());
  const auto entry =
      reinterpret_cast<pc_backend_entry_v1_fn>(::dlsym(library, "pc_backend_entry_v1"));
  const pc_backend_v1* table = entry ? entry() : nullptr;
  if (!table)
    return error(Code::kUnsupported,
                 name + " is not a promptcache backend: it has no pc_backend_entry_v1");
  const bool complete =
      table->abi == PC_BACKEND_ABI && table->struct_size >= sizeof(pc_backend_v1) && table->name &&
      is_backend_name(table->name) && table->numerics_version != 0 && table->step_tokens != 0 &&
      table->model_open && table->model_close && table->resident_create &&
      table->resident_prefetch && table->resident_release && table->timeline_open &&
      table->timeline_close && table->timeline_attach && table->timeline_fork &&
      table->timeline_rewind && table->timeline_read && table->timeline_recurrent &&
      table->timeline_compare && table->step;
  if (table->abi == PC_BACKEND_ABI && !complete) {
    return error(Code::kUnsupported, "the table of the backend " + name + " is incomplete");
  }
  if (!complete) {
    return error(Code::kUnsupported, "the backend " + name + " has interface version " +
                                         std::to_string(table->abi) + ", this library has " +
                                         std::to_string(PC_BACKEND_ABI));
  }
  if (std::strcmp(table->name, cpu_backend()->name) == 0) {
    return error(Code::kUnsupported, "the backend " + name + " calls itself " + table->name +
                                         ", as this library's own does: their states would be "
                                         "taken for each other's");
  }
  return table;
}

}  // namespace pc
