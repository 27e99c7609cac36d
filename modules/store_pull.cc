#include "modules/store_pull.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "modules/tier_search.h"
#include "modules/tiers/manifest.h"

namespace pc {
namespace {

// Copies one module. *refused: why this store would not take it.
Status pull(ModuleStore& store, Tier& tier, const ModuleKey& key, PullReport* report,
            Status* refused) {
  PC_TRY(const auto file, tier.open(key.digest));
  const CacheFolder nothing;
  const auto make = [&](std::uint64_t n_bytes) { return store.draft(n_bytes); };
  const auto give = [&](const ModuleHandle& module, CacheDraft* draft) {
    auto published = store.publish(module, draft);
    if (!published.ok()) *refused = published.error();
    return published;
  };
  PC_TRY(const ModuleHandle module, copy_from(
                                        tier, file, key, [](const ModuleFile&) { return ok(); },
                                        {nothing, make, give}, true, [] { return true; }));
  if (!refused->ok()) return ok();
  ++report->n_copied;
  report->copied_bytes += module->bytes().size();
  return ok();
}

Result<std::vector<ManifestEntry>> entries_of(const ModuleStore& store, Progress progress) {
  PC_TRY(const std::vector<CacheEntry> files, store.list());
  std::vector<ManifestEntry> entries;
  for (const CacheEntry& file : files) {
    if (progress && !progress(entries.size(), files.size())) return cancelled();
    PC_TRY(const ModuleHandle module, store.verify(ModuleKey{file.key}));
    entries.push_back({file.key, module->bytes().size(), sha256(module->bytes())});
  }
  return entries;
}

// A list that another one is to have as well: who signs that vouches for this, so it must be one
// that he has signed before.
Result<Manifest> read_others(const std::string& path, const std::string& private_key) {
  PC_TRY(Manifest others, Manifest::read(path));
  if (private_key.empty()) return others;
  PC_TRY(const SignedText own, sign("", private_key));
  if (others.is_signed_by(std::array{own.key})) return others;
  return error(Code::kMismatch, "the list " + path + " has no signature of " + private_key +
                                    ", so what it says cannot be signed with it");
}

// In one step, so that a reader finds the old list or the new one. 0 or an errno.
int replace_file(const std::string& path, const std::string& text) {
  const std::string unfinished = path + "." + std::to_string(::getpid());
  const UniqueFd fd(
      ::open(unfinished.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644));
  int failure = fd ? write_all(fd.get(), 0, std::as_bytes(std::span(text))) : errno;
  if (failure == 0 && ::fsync(fd.get()) != 0) failure = errno;
  if (failure == 0 && std::rename(unfinished.c_str(), path.c_str()) != 0) failure = errno;
  if (failure != 0) ::unlink(unfinished.c_str());
  return failure;
}

}  // namespace

Result<PullReport> pull_modules(ModuleStore& store, const std::string& from,
                                const std::vector<PublicKey>& trusted,
                                std::span<const ModuleKey> keys, Progress progress) {
  if (!store.writable())
    return error(Code::kIo, "nothing can be put into the store " + store.options().dir + ": " +
                                (store.why_not_writable().empty() ? "it is open read-only"
                                                                  : store.why_not_writable()));
  Tier tier(from, kModuleTenant, trusted,
            trusted.empty() ? TierTrust::kOwnerOrSignature : TierTrust::kSignature);
  PC_TRY(const std::vector<Digest> there, tier.list());
  std::vector<ModuleKey> wanted(keys.begin(), keys.end());
  if (keys.empty())
    for (const Digest& key : there) wanted.push_back({key});
  PullReport report;
  std::uint64_t n_done = 0;
  for (const ModuleKey& key : wanted) {
    if (progress && !progress(n_done++, wanted.size())) return cancelled();
    if (store.inspect(key).ok()) {
      ++report.n_there;
      continue;
    }
    Status refused = ok();
    const Status pulled = std::ranges::binary_search(there, key.digest)
                              ? pull(store, tier, key, &report, &refused)
                              : Status(error(Code::kNotFound, "it is not in " + from));
    PC_CHECK_OK(refused);
    if (!pulled.ok() && pulled.error().code == Code::kOutOfMemory) return pulled.error();
    if (!pulled.ok()) report.failed.emplace_back(key, pulled.error().message);
  }
  return report;
}

Result<std::uint64_t> write_manifest(const ModuleStore& store, const std::string& private_key,
                                     const std::string& with, Progress progress) {
  PC_TRY(std::vector<ManifestEntry> entries, entries_of(store, progress));
  if (!with.empty()) {
    PC_TRY(const Manifest others, read_others(with, private_key));
    entries.insert(entries.begin(), others.entries().begin(), others.entries().end());
  }
  Manifest manifest(std::move(entries));
  if (!private_key.empty()) PC_CHECK_OK(manifest.sign_with(private_key));
  const std::string path = store.options().dir + "/" + std::string(kModuleTenant.manifest);
  if (const int failure = replace_file(path, manifest.text()))
    return error(Code::kIo, system_error("cannot write", path, failure).message);
  return std::uint64_t{manifest.entries().size()};
}

Result<std::vector<ModuleKey>> manifest_keys(const std::string& path,
                                             const std::vector<PublicKey>& trusted) {
  PC_TRY(const Manifest manifest, Manifest::read(path));
  if (!trusted.empty() && !manifest.is_signed_by(trusted))
    return error(Code::kMismatch,
                 "the list " + path + " has no signature of a key that is trusted here");
  std::vector<ModuleKey> keys;
  for (const ManifestEntry& entry : manifest.entries()) keys.push_back({entry.key});
  return keys;
}

}  // namespace pc
