#include "modules/module_transfer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mapped_file.h"
#include "modules/format.h"
#include "modules/store/cache_draft.h"
#include "modules/store/file_access.h"
#include "modules/store/unique_fd.h"

namespace pc {
namespace {

Error cannot_write(const std::string& path, int failure) {
  const Code code = failure == EEXIST ? Code::kInvalidArgument : Code::kIo;
  const std::string hint = failure == EEXIST ? "; remove it, or give another name" : "";
  return error(code, system_error("cannot write", path, failure).message + hint);
}

// Two passes over the bytes of some modules, as one piece of work.
class TwoPasses {
 public:
  TwoPasses(Progress progress, std::span<const ModuleHandle> modules) : progress_(progress) {
    for (const ModuleHandle& module : modules) n_bytes_ += module->bytes().size();
  }

  Status verify(const ModuleFile& module) {
    PC_CHECK_OK(module.verify_payload(
        [this](std::uint64_t done, std::uint64_t) { return goes_on(n_done_ + done); }));
    n_done_ += module.bytes().size();
    return ok();
  }
  // `write` is given the pieces of `bytes` and where each begins; it returns 0 or an errno.
  int write(std::span<const std::byte> bytes,
            FunctionRef<int(std::uint64_t, std::span<const std::byte>)> write) {
    for (std::uint64_t begin = 0; begin < bytes.size(); begin += kPiece) {
      if (!goes_on(n_done_ + begin)) return ECANCELED;
      const auto piece = bytes.subspan(begin, std::min(kPiece, bytes.size() - begin));
      if (const int failure = write(begin, piece); failure != 0) return failure;
    }
    n_done_ += bytes.size();
    return 0;
  }

 private:
  static constexpr std::uint64_t kPiece = 4 << 20;  // some milliseconds of a slow disk

  bool goes_on(std::uint64_t done) const { return !progress_ || progress_(done, 2 * n_bytes_); }

  const Progress progress_;
  std::uint64_t n_bytes_ = 0, n_done_ = 0;
};

// What stands before several modules, with zeros behind it to the end of its page.
struct Preface {
  std::array<std::uint8_t, 8> magic{};
  std::uint32_t endian = 0;   // kModuleEndianTag
  std::uint32_t version = 0;  // kPrefaceVersion
  std::uint64_t n_modules = 0;
  Digest keys{};  // SHA-256 of the modules' keys in their order
};
static_assert(sizeof(Preface) == 56);
constexpr std::array<std::uint8_t, 8> kPrefaceMagic = {0x89, 'P', 'C', 'S', '\r', '\n', 0x1a, '\n'};
constexpr std::uint32_t kPrefaceVersion = 1;

Preface preface_of(std::span<const ModuleHandle> modules) {
  Sha256 keys;
  for (const ModuleHandle& module : modules)
    keys.update(std::as_bytes(std::span(module->key().digest)));
  return {kPrefaceMagic, kModuleEndianTag, kPrefaceVersion, modules.size(), keys.finish()};
}

std::uint64_t next_page(std::uint64_t end) {
  return (end + kPayloadAlign - 1) / kPayloadAlign * kPayloadAlign;
}

// 0 or an errno. What lies between modules is never written, and so is zeros.
int write_modules(int fd, std::span<const ModuleHandle> modules, TwoPasses* passes) {
  std::uint64_t offset = 0;
  if (modules.size() > 1) {
    const Preface preface = preface_of(modules);
    if (const int failure = write_all(fd, 0, std::as_bytes(std::span(&preface, 1)))) return failure;
    offset = kPayloadAlign;
  }
  for (const ModuleHandle& module : modules) {
    const int failure =
        passes->write(module->bytes(), [&](std::uint64_t begin, std::span<const std::byte> piece) {
          return write_all(fd, offset + begin, piece);
        });
    if (failure != 0) return failure;
    offset = next_page(offset + module->bytes().size());
  }
  return ::fsync(fd) == 0 ? 0 : errno;
}

Error damaged(const std::string& what) {
  return error(Code::kCorrupt, "damaged file of modules: " + what);
}

// Takes the first n bytes, and with them what is left of their page, which must be zeros.
Result<std::span<const std::byte>> take(std::span<const std::byte>* rest, std::uint64_t n) {
  const auto bytes = rest->first(n);
  const auto gap = rest->subspan(n, std::min<std::uint64_t>(next_page(n), rest->size()) - n);
  if (std::ranges::any_of(gap, [](std::byte b) { return b != std::byte{0}; }))
    return damaged("between two modules stand bytes of neither");
  *rest = rest->subspan(n + gap.size());
  return bytes;
}

Result<std::vector<ModuleHandle>> open_several(const std::shared_ptr<const MappedFile>& file) {
  std::span<const std::byte> rest = file->bytes();
  const auto preface = load_le<Preface>(rest, 0);
  if (preface.endian != kModuleEndianTag || preface.version != kPrefaceVersion)
    return error(Code::kUnsupported, "a file of modules that this build does not read");
  PC_TRY([[maybe_unused]] const auto page, take(&rest, sizeof(Preface)));
  std::vector<ModuleHandle> modules;
  while (!rest.empty()) {
    const std::uint64_t said =
        rest.size() < sizeof(ModuleHeader) ? 0 : load_le<ModuleHeader>(rest, 0).file_bytes;
    if (said == 0 || said > rest.size()) return damaged("its last module is cut short");
    const bool is_last = next_page(said) >= rest.size();
    if (is_last && said != rest.size()) return damaged("something stands behind its last module");
    PC_TRY(const auto bytes, take(&rest, said));
    PC_TRY(ModuleHandle module, ModuleFile::open(bytes, PayloadCheck::kTrusted, file));
    modules.push_back(std::move(module));
  }
  const Preface found = preface_of(modules);
  if (std::memcmp(&found, &preface, sizeof found) == 0) return modules;
  return damaged("it does not hold the modules that it says");
}

// All modules of a file, header and tables checked.
Result<std::vector<ModuleHandle>> open_modules(const std::shared_ptr<const MappedFile>& file) {
  const auto bytes = file->bytes();
  if (bytes.size() >= sizeof(Preface) && load_le<Preface>(bytes, 0).magic == kPrefaceMagic)
    return open_several(file);
  PC_TRY(ModuleHandle module, ModuleFile::open(bytes, PayloadCheck::kTrusted, file));
  return std::vector<ModuleHandle>{std::move(module)};
}

// Puts one into the store, in its own file from the first byte on where there is such a thing.
Status import_one(ModuleStore& store, const ModuleHandle& module, TwoPasses* passes) {
  const auto draft = store.draft(module->bytes().size());
  const auto copy = [&](std::uint64_t begin, std::span<const std::byte> piece) {
    std::ranges::copy(piece, draft->bytes().begin() + static_cast<std::ptrdiff_t>(begin));
    return 0;
  };
  if (draft && passes->write(module->bytes(), copy) != 0) return cancelled();
  if (draft) draft->end_writing();
  const auto published = store.publish(module, draft.get());
  return published.ok() ? ok() : Status(published.error());
}

}  // namespace

Status export_modules(const ModuleStore& store, std::span<const ModuleKey> keys,
                      const std::string& path, Progress progress) {
  if (keys.empty()) return error(Code::kInvalidArgument, "there is no module to export");
  std::vector<ModuleHandle> modules;
  for (const ModuleKey& key : keys) {
    PC_TRY(ModuleHandle module, store.inspect(key));
    modules.push_back(std::move(module));
  }
  TwoPasses passes(progress, modules);
  for (const ModuleHandle& module : modules) PC_CHECK_OK(passes.verify(*module));
  const UniqueFd fd(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
  if (!fd) return cannot_write(path, errno);
  const int failure = write_modules(fd.get(), modules, &passes);
  if (failure == 0) return ok();
  ::unlink(path.c_str());
  if (failure == ECANCELED) return cancelled();
  return cannot_write(path, failure);
}

Result<std::vector<ModuleKey>> import_modules(ModuleStore& store, const std::string& path,
                                              Progress progress) {
  PC_TRY(MappedFile mapped, MappedFile::open(path));
  const auto file = std::make_shared<const MappedFile>(std::move(mapped));
  expect_all(file->bytes());
  const auto of_file = [&](Error failure) {
    if (failure.code != Code::kCancelled) failure.message += " (" + path + ")";
    return failure;
  };
  const auto modules = open_modules(file);
  if (!modules.ok()) return of_file(modules.error());
  TwoPasses passes(progress, *modules);
  for (const ModuleHandle& module : *modules)
    if (const Status sound = passes.verify(*module); !sound.ok()) return of_file(sound.error());
  std::vector<ModuleKey> keys;
  for (const ModuleHandle& module : *modules) {
    PC_CHECK_OK(import_one(store, module, &passes));
    keys.push_back(module->key());
  }
  return keys;
}

}  // namespace pc
