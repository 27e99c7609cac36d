#include "modules/tiers/tier_listing.h"

#include <sys/vfs.h>

#include <array>
#include <utility>

namespace pc {
namespace {

// The folder of files, and whether nobody else may write to it.
Result<UniqueFd> open_files(const std::string& dir, std::string_view files, Status* trust) {
  const auto open = [&](Whose whose) -> Result<UniqueFd> {
    PC_TRY(const UniqueFd root, open_root(dir, false, whose));
    return open_below(root, dir, files, false, whose);
  };
  auto ours = open(Whose::kTrusted);
  if (ours.ok()) return ours;
  *trust = ours.error();
  return open(Whose::kAnyones);
}

Result<Manifest> read_signed(const std::string& path, std::span<const PublicKey> trusted,
                             const Error& not_ours, FunctionRef<void()> beat) {
  const auto untrusted = [&](const std::string& why) {
    return error(Code::kIo, not_ours.message + ", and " + why);
  };
  if (trusted.empty()) return untrusted("no key was named whose signature would do");
  auto manifest = Manifest::read(path, beat);
  if (!manifest.ok()) return untrusted(manifest.error().message);
  if (manifest->is_signed_by(trusted)) return manifest;
  return untrusted("its manifest has no signature of a key that is trusted here");
}

}  // namespace

bool may_hang(int fd) {
  // ext2 to ext4, XFS, Btrfs, bcachefs, F2FS, ZFS, tmpfs, ramfs, overlayfs, SquashFS, EROFS,
  // ISO 9660, FAT, exFAT: statfs(2), linux/magic.h.
  constexpr std::array<std::uint64_t, 14> kLocal = {
      0xEF53,     0x58465342, 0x9123683E, 0xCA451A4E, 0xF2F52010, 0x2FC12FC1, 0x01021994,
      0x858458F6, 0x794C7630, 0x73717368, 0xE0F5E1E2, 0x9660,     0x4D44,     0x2011BAB0};
  struct statfs fs {};
  if (::fstatfs(fd, &fs) != 0) return true;
  const auto type = static_cast<std::uint64_t>(fs.f_type) & 0xFFFFFFFF;
  return std::ranges::find(kLocal, type) == kLocal.end();
}

Result<TierListing> TierListing::read(const std::string& dir, const CacheTenant& tenant,
                                      std::span<const PublicKey> trusted, TierTrust wanted,
                                      FunctionRef<void()> beat) {
  TierListing listing;
  Status trust = ok();
  PC_TRY(const UniqueFd files, open_files(dir, tenant.files, &trust));
  if (trust.ok() && wanted == TierTrust::kSignature)
    trust = error(Code::kIo, dir + " is believed by its signature alone");
  listing.is_ours = trust.ok();
  if (!trust.ok()) {
    PC_TRY(listing.manifest,
           read_signed(dir + "/" + std::string(tenant.manifest), trusted, trust.error(), beat));
  }
  PC_CHECK_OK(for_each_name(files.get(), [&](std::string_view name) {
    beat();
    if (!name.ends_with(tenant.suffix)) return;
    const auto key = from_hex(name.substr(0, name.size() - tenant.suffix.size()));
    if (key && (listing.is_ours || listing.manifest.find(*key))) listing.keys.insert(*key);
  }));
  return listing;
}

Result<std::shared_ptr<const TierFile>> TierListing::open(const std::string& dir,
                                                          const CacheTenant& tenant,
                                                          const Digest& key) const {
  Status trust = ok();
  PC_TRY(const UniqueFd files, open_files(dir, tenant.files, &trust));
  auto out = std::make_shared<TierFile>();
  const std::string name = to_hex(key) + std::string(tenant.suffix);
  out->path = dir + "/" + std::string(tenant.files) + "/" + name;
  PC_TRY(out->file, open_regular(files.get(), name, out->path));
  if (trust.ok()) trust = check_trust(out->file.st, out->path);
  out->may_hang = may_hang(out->file.fd.get());
  if (is_ours && trust.ok()) return std::shared_ptr<const TierFile>(std::move(out));
  const ManifestEntry* const entry = manifest.find(key);
  if (!entry)
    return error(Code::kIo, (trust.ok() ? out->path : trust.error().message) +
                                ", and no list that is trusted has it");
  if (entry->n_bytes != out->n_bytes())
    return error(Code::kCorrupt, out->path + " has not the size that its manifest says");
  out->sha256 = entry->sha256;
  return std::shared_ptr<const TierFile>(std::move(out));
}

}  // namespace pc
