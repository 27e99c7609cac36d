#include "modules/object_reader.h"

#include <sys/resource.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mapped_file.h"

namespace pc {
namespace {

// The lock that says "in use" belongs to the open file, which a mapping keeps open without its
// descriptor, but not on every file system (overlayfs); and it is the descriptor that can be asked
// whether the file changed. So it stays, while the process has plenty: descriptors are given lowest
// first, so a small one says so.
void keep_descriptor(UniqueFd fd, MappedFile* file) {
  rlimit limit{};
  const bool plenty =
      ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && static_cast<rlim_t>(fd.get()) < limit.rlim_cur / 4;
  if (plenty) file->keep(fd.release());
}

Status check_payload(const CacheFolder& folder, const OpenFile& file, ReadMode mode,
                     const ModuleFile& module) {
  const auto verify = [&] { return verify_by_reading(module, file.fd.get()); };
  if (mode == ReadMode::kInspect) return ok();
  if (mode == ReadMode::kVerify) return verify();
  return folder.verify_once(module.key().digest, file, verify);
}

}  // namespace

Status verify_by_reading(const ModuleFile& module, int fd) {
  const ModuleHeader& header = module.header();
  const std::uint64_t payload = header.file_bytes - header.payload_bytes;
  std::vector<std::byte> buffer(kChunkBytes);
  read_in_order(fd);
  for (std::uint64_t chunk = 0; chunk < header.n_chunks; ++chunk) {
    const ChunkRange range = chunk_range(chunk, header.payload_bytes);
    const auto bytes = std::span(buffer).first(range.end - range.begin);
    PC_CHECK_OK(read_exactly(fd, payload + range.begin, bytes));
    PC_CHECK_OK(module.verify_chunk(chunk, bytes));
  }
  return ok();
}

Result<ModuleHandle> map_object(OpenFile& file, const ModuleKey& key, const std::string& name,
                                FunctionRef<Status(const ModuleFile&)> accept,
                                FunctionRef<Status(const ModuleFile&)> check) {
  const auto size = static_cast<std::uint64_t>(file.st.st_size);
  PC_TRY(MappedFile opened, MappedFile::map(file.fd.get(), size, name));
  const auto mapped = std::make_shared<MappedFile>(std::move(opened));
  PC_TRY(ModuleHandle module,
         ModuleFile::open(mapped->bytes(), PayloadCheck::kTrusted, mapped, mapped.get()));
  if (module->key() != key) return error(Code::kMismatch, "module file under the name of another");
  PC_CHECK_OK(accept(*module));
  PC_CHECK_OK(check(*module));
  keep_descriptor(std::move(file.fd), mapped.get());
  return module;
}

Result<ModuleHandle> read_object(const CacheFolder& folder, const ModuleKey& key, ReadMode mode,
                                 const std::function<Status(const ModuleFile&)>& accept,
                                 bool* is_set_aside) {
  PC_TRY(OpenFile file, folder.open_file(key.digest));
  const std::uint64_t n_lost = n_lost_mappings();
  const auto check = [&](const ModuleFile& found) {
    if (mode != ReadMode::kInspect) will_need(found.bytes());
    return check_payload(folder, file, mode, found);
  };
  auto module = map_object(file, key, folder.name_of(key.digest), accept, check);
  if (module.ok()) return module;
  Error failure = std::move(module).error();
  // Nobody knows what stands where zeros were read in its place.
  if (n_lost_mappings() != n_lost && failure.code != Code::kNotFound) failure.code = Code::kIo;
  const bool bad = failure.code == Code::kCorrupt || failure.code == Code::kMismatch;
  const bool gone = bad && mode == ReadMode::kUse && folder.set_aside(key.digest, file);
  if (is_set_aside) *is_set_aside = gone;
  failure.message += " (" + folder.path_of(key.digest) + ")";
  return failure;
}

}  // namespace pc
