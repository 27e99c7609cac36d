#include "modules/module_transfer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/mapped_file.h"
#include "modules/store/cache_draft.h"
#include "modules/store/file_access.h"
#include "modules/store/unique_fd.h"

namespace pc {
namespace {

Error cannot_write(const std::string& path, int failure) {
  const Code code = failure == EEXIST ? Code::kInvalidArgument : Code::kIo;
  const std::string hint = failure == EEXIST ? "; remove it, or give another name" : "";
  return error(code, "cannot write " + path + ": " + std::strerror(failure) + hint);
}

// Two passes over the bytes of a file, as one piece of work.
class TwoPasses {
 public:
  TwoPasses(Progress progress, std::uint64_t n_bytes) : progress_(progress), n_bytes_(n_bytes) {}

  Status verify(const ModuleFile& module) const {
    return module.verify_payload(
        [this](std::uint64_t done, std::uint64_t) { return goes_on(done); });
  }
  // `write` is given the pieces of `bytes` and where each begins; it returns 0 or an errno.
  int write(std::span<const std::byte> bytes,
            FunctionRef<int(std::uint64_t, std::span<const std::byte>)> write) const {
    for (std::uint64_t begin = 0; begin < bytes.size(); begin += kPiece) {
      if (!goes_on(n_bytes_ + begin)) return ECANCELED;
      const auto piece = bytes.subspan(begin, std::min(kPiece, bytes.size() - begin));
      if (const int failure = write(begin, piece); failure != 0) return failure;
    }
    return 0;
  }

 private:
  static constexpr std::uint64_t kPiece = 4 << 20;  // some milliseconds of a slow disk

  bool goes_on(std::uint64_t done) const { return !progress_ || progress_(done, 2 * n_bytes_); }

  const Progress progress_;
  const std::uint64_t n_bytes_;
};

}  // namespace

Status export_module(const ModuleStore& store, const ModuleKey& key, const std::string& path,
                     Progress progress) {
  PC_TRY(const ModuleHandle module, store.inspect(key));
  const TwoPasses passes(progress, module->bytes().size());
  PC_CHECK_OK(passes.verify(*module));
  const UniqueFd fd(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
  if (!fd) return cannot_write(path, errno);
  int failure =
      passes.write(module->bytes(), [&](std::uint64_t offset, std::span<const std::byte> piece) {
        return write_all(fd.get(), offset, piece);
      });
  if (failure == 0 && ::fsync(fd.get()) != 0) failure = errno;
  if (failure == 0) return ok();
  ::unlink(path.c_str());
  if (failure == ECANCELED) return cancelled();
  return cannot_write(path, failure);
}

Result<ModuleKey> import_module(ModuleStore& store, const std::string& path, Progress progress) {
  PC_TRY(MappedFile mapped, MappedFile::open(path));
  const auto file = std::make_shared<const MappedFile>(std::move(mapped));
  const auto of_file = [&](Error failure) {
    if (failure.code != Code::kCancelled) failure.message += " (" + path + ")";
    return failure;
  };
  auto module = ModuleFile::open(file->bytes(), PayloadCheck::kTrusted, file);
  if (!module.ok()) return of_file(std::move(module).error());
  const TwoPasses passes(progress, file->bytes().size());
  if (const Status sound = passes.verify(**module); !sound.ok()) return of_file(sound.error());

  const auto draft = store.draft(file->bytes().size());
  if (draft && passes.write(file->bytes(), [&](std::uint64_t offset, auto piece) {
        std::ranges::copy(piece, draft->bytes().begin() + static_cast<std::ptrdiff_t>(offset));
        return 0;
      }) != 0)
    return cancelled();
  if (draft) draft->end_writing();
  PC_TRY(const ModuleHandle published, store.publish(*module, draft.get()));
  return published->key();
}

}  // namespace pc
