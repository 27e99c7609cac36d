#include "modules/module_worth.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "modules/format.h"

namespace pc {
namespace {

// Of a million files, which would be 60 MB of memory, most are gone by then.
constexpr std::size_t kMostKnown = 1u << 20;

bool is_module(const ModuleHeader& header) {
  return header.magic == kModuleMagic && header.endian == kModuleEndianTag &&
         header.version == module_version(header.causes.n_recurrent) &&
         header.n_tokens <= kMaxModuleTokens;
}

// Of the first run; 0 where the table of runs begins behind `head`, as that of a long module does.
std::int64_t first_position(const ModuleHeader& header, std::span<const std::byte> head) {
  const std::uint64_t layers = std::uint64_t{header.causes.n_layers} * sizeof(KvLayer);
  const std::uint64_t room = head.size() - sizeof(ModuleHeader) - sizeof(ModuleRun);
  if (layers > room || header.n_chunks > (room - layers) / sizeof(std::uint64_t)) return 0;
  ModuleRun run;
  const std::size_t at = sizeof(ModuleHeader) + layers + header.n_chunks * sizeof(std::uint64_t);
  std::memcpy(&run, head.data() + at, sizeof run);
  return std::clamp<std::int64_t>(run.local_position, 0, kMaxModuleTokens);
}

}  // namespace

double module_worth(std::uint32_t n_tokens, std::int64_t position) {
  return 1 + (static_cast<double>(position) + n_tokens / 2.0) / kDoubledDepth;
}

double module_worth(std::span<const std::byte> head) {
  if (head.size() < sizeof(ModuleHeader) + sizeof(ModuleRun)) return 1;
  ModuleHeader header;
  std::memcpy(&header, head.data(), sizeof header);
  if (!is_module(header) || header.causes.n_recurrent != 0) return 1;
  const bool is_link = header.causes.attend == kLinkAttend;  // others' positions are their own
  return module_worth(header.n_tokens, is_link ? first_position(header, head) : 0);
}

double ModuleWorths::of(const CacheFolder& folder, const Digest& key) {
  {
    const MutexLock lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
  }
  const auto file = folder.open_file(key);
  if (!file.ok()) return 1;
  std::array<std::byte, kPayloadAlign> head;
  const ssize_t n = ::pread(file->fd.get(), head.data(), head.size(), 0);
  const double worth =
      module_worth(std::span(head).first(static_cast<std::size_t>(std::max<ssize_t>(0, n))));
  const MutexLock lock(mutex_);
  if (known_.size() >= kMostKnown) known_.clear();
  return known_[key] = worth;
}

}  // namespace pc
