#include "modules/object_reader.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <cerrno>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "modules/store/use_stamp.h"

namespace pc {
namespace {

// Reads exactly buffer.size() bytes. A disk that cannot give them back has lost them: kCorrupt.
Status read_exactly(int fd, std::uint64_t offset, std::span<std::byte> buffer) {
  while (!buffer.empty()) {
    const ssize_t n = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return error(Code::kCorrupt, store_error("cannot read", "the payload", errno).message);
    if (n == 0) return error(Code::kCorrupt, "damaged module file: it ends inside its payload");
    offset += static_cast<std::uint64_t>(n);
    buffer = buffer.subspan(static_cast<std::size_t>(n));
  }
  return ok();
}

Status verify_by_reading(const Module& module, int fd) {
  const ModuleHeader& header = module.header();
  const std::uint64_t payload = header.file_bytes - header.payload_bytes;
  std::vector<std::byte> buffer(kChunkBytes);
  for (std::uint64_t chunk = 0; chunk < header.n_chunks; ++chunk) {
    const ChunkRange range = chunk_range(chunk, header.payload_bytes);
    const auto bytes = std::span(buffer).first(range.end - range.begin);
    PC_CHECK_OK(read_exactly(fd, payload + range.begin, bytes));
    PC_CHECK_OK(module.verify_chunk(chunk, bytes));
  }
  return ok();
}

// What a Module of the store owns. The lock that says "in use" belongs to the
// open file, which a mapping keeps open without its descriptor, but not on
// every file system (overlayfs). So the descriptor stays, while the process
// has plenty: descriptors are given lowest first, so a small one says so.
struct MappedObject {
  MappedFile file;
  UniqueFd lease;

  void keep(UniqueFd fd) {
    rlimit limit{};
    const bool plenty = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
                        static_cast<rlim_t>(fd.get()) < limit.rlim_cur / 4;
    if (plenty) lease = std::move(fd);
  }
};

Status check_payload(const StoreDir& dir, const ModuleKey& key, const OpenObject& object,
                     ReadMode mode, const Module& module) {
  if (mode == ReadMode::kInspect) return ok();
  if (mode == ReadMode::kUse && is_verified(dir, key, object.st)) {
    mark_used(dir, key);
    return ok();
  }
  PC_CHECK_OK(verify_by_reading(module, object.fd.get()));
  if (mode == ReadMode::kUse) mark_verified(dir, key, object.st);
  return ok();
}

Result<ModuleHandle> map_and_check(const StoreDir& dir, const ModuleKey& key, OpenObject& object,
                                   ReadMode mode,
                                   const std::function<Status(const Module&)>& accept) {
  const auto size = static_cast<std::uint64_t>(object.st.st_size);
  const auto owner = std::make_shared<MappedObject>();
  PC_TRY(owner->file, MappedFile::map(object.fd.get(), size, object_name(key)));
  PC_TRY(ModuleHandle module, Module::open(owner->file.bytes(), PayloadCheck::kTrusted, owner));
  if (module->key() != key) return error(Code::kMismatch, "module file under the name of another");
  PC_CHECK_OK(accept(*module));
  if (mode != ReadMode::kInspect) owner->file.will_need(0, size);
  PC_CHECK_OK(check_payload(dir, key, object, mode, *module));
  owner->keep(std::move(object.fd));
  return module;
}

// Out of the way of the next encoding, kept for whoever wants to know. The
// newest replaces an older one, so a key takes at most twice its space. If
// the name means another file by now, someone was faster.
void set_aside(const StoreDir& dir, const ModuleKey& key, const struct stat& bad) {
  const std::string name = object_name(key);
  struct stat now {};
  if (!dir.writable || ::fstatat(dir.objects.get(), name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0)
    return;
  if (now.st_ino != bad.st_ino || now.st_dev != bad.st_dev) return;
  ::renameat(dir.objects.get(), name.c_str(), dir.quarantine.get(), name.c_str());
}

}  // namespace

Result<ModuleHandle> read_object(const StoreDir& dir, const ModuleKey& key, ReadMode mode,
                                 const std::function<Status(const Module&)>& accept) {
  PC_TRY(OpenObject object, open_object(dir, key));
  // Says "in use" to eviction. Without it a file in use may lose its name,
  // which harms nobody, so failure is no error.
  ::flock(object.fd.get(), LOCK_SH | LOCK_NB);
  auto module = map_and_check(dir, key, object, mode, accept);
  if (module.ok()) return module;
  Error failure = std::move(module).error();
  const bool bad = failure.code == Code::kCorrupt || failure.code == Code::kMismatch;
  if (bad && mode == ReadMode::kUse) set_aside(dir, key, object.st);
  failure.message += " (" + dir.path + "/objects/" + object_name(key) + ")";
  return failure;
}

}  // namespace pc
