#include "modules/tiers/manifest.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "modules/store/file_access.h"

namespace pc {
namespace {

constexpr std::string_view kTitle = "promptcache manifest ";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kSigned = "signed";

Error bad_line(std::size_t line) {
  return error(Code::kCorrupt, "damaged manifest: line " + std::to_string(line) +
                                   " is neither a file nor a signature");
}

// Takes the text up to the next `end`; nothing where there is none.
std::optional<std::string_view> take(std::string_view* text, char end) {
  const std::size_t at = text->find(end);
  if (at == text->npos) return std::nullopt;
  const std::string_view word = text->substr(0, at);
  text->remove_prefix(at + 1);
  return word;
}

std::optional<std::uint64_t> to_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = failure == std::errc() && end == text.data() + text.size();
  return is_whole && std::to_string(number) == text ? std::optional(number) : std::nullopt;
}

std::optional<ManifestEntry> to_entry(std::string_view line) {
  const auto key = take(&line, ' '), size = take(&line, ' ');
  if (!key || !size) return std::nullopt;
  const auto k = from_hex(*key), sum = from_hex(line);
  const auto n = to_number(*size);
  if (!k || !n || !sum) return std::nullopt;
  return ManifestEntry{*k, *n, *sum};
}

std::string to_hex(const Signature& signature) {
  Digest half;
  std::string text;
  for (const std::size_t at : {std::size_t{0}, half.size()}) {
    std::copy_n(signature.begin() + static_cast<std::ptrdiff_t>(at), half.size(), half.begin());
    text += pc::to_hex(half);
  }
  return text;
}

std::optional<Signature> to_signature(std::string_view text) {
  constexpr std::size_t kHalf = 2 * sizeof(Digest);
  const auto first = from_hex(text.substr(0, kHalf));
  const auto second = text.size() > kHalf ? from_hex(text.substr(kHalf)) : std::nullopt;
  if (!first || !second) return std::nullopt;
  Signature signature;
  std::ranges::copy(*second, std::ranges::copy(*first, signature.begin()).out);
  return signature;
}

}  // namespace

Manifest::Manifest(std::vector<ManifestEntry> entries) : entries_(std::move(entries)) {
  std::ranges::stable_sort(entries_, {}, &ManifestEntry::key);
  const auto twice = std::ranges::unique(entries_, {}, &ManifestEntry::key);
  entries_.erase(twice.begin(), twice.end());
}

Result<Manifest> Manifest::parse(std::string_view text) {
  const auto title = take(&text, '\n');
  if (!title || !title->starts_with(kTitle))
    return error(Code::kCorrupt, "this is no manifest: its first line is another");
  if (title->substr(kTitle.size()) != kVersion)
    return error(Code::kUnsupported, "a manifest of version " +
                                         std::string(title->substr(kTitle.size(), 20)) +
                                         ", which this build does not read");
  Manifest out;
  for (std::size_t n = 2; !text.empty(); ++n) {
    auto line = take(&text, '\n');
    if (!line) return bad_line(n);  // cut short
    if (line->starts_with(kSigned)) {
      (void)take(&*line, ' ');
      const auto key = take(&*line, ' ');
      const auto id = from_hex(key.value_or(""));
      const auto signature = to_signature(*line);
      const auto is_theirs = [&](const Signed& s) { return s.key_id == id; };
      if (!id || !signature || out.signatures_.size() == kMostSignatures ||
          std::ranges::any_of(out.signatures_, is_theirs))
        return bad_line(n);
      out.signatures_.push_back({*id, *signature});
      continue;
    }
    const auto entry = to_entry(*line);
    const bool is_next = entry && (out.entries_.empty() || out.entries_.back().key < entry->key);
    if (!is_next || !out.signatures_.empty()) return bad_line(n);
    out.entries_.push_back(*entry);
  }
  return out;
}

Result<Manifest> Manifest::read(const std::string& path, FunctionRef<void()> beat) {
  PC_TRY(const OpenFile file, open_regular(AT_FDCWD, path, path));
  const auto n_bytes = static_cast<std::uint64_t>(file.st.st_size);
  if (n_bytes > kMostBytes)
    return error(Code::kUnsupported, path + " has more than " + std::to_string(kMostBytes) +
                                         " bytes, which is no manifest of ours");
  std::string text(n_bytes, '\0');
  constexpr std::size_t kPiece = 1 << 20;
  for (std::size_t at = 0; at < text.size(); at += kPiece) {
    const auto rest = std::as_writable_bytes(std::span(text)).subspan(at);
    PC_CHECK_OK(read_exactly(file.fd.get(), at, rest.first(std::min(kPiece, rest.size()))));
    if (beat) beat();
  }
  auto manifest = parse(text);
  if (manifest.ok()) return manifest;
  Error failure = std::move(manifest).error();
  failure.message += " (" + path + ")";
  return failure;
}

const ManifestEntry* Manifest::find(const Digest& key) const {
  const auto at = std::ranges::lower_bound(entries_, key, {}, &ManifestEntry::key);
  return at != entries_.end() && at->key == key ? &*at : nullptr;
}

bool Manifest::is_signed_by(std::span<const PublicKey> keys) const {
  const std::string text = signed_text();
  return std::ranges::any_of(signatures_, [&](const Signed& s) {
    return std::ranges::any_of(keys, [&](const PublicKey& key) {
      return key.id() == s.key_id && key.verifies(text, s.signature);
    });
  });
}

Status Manifest::sign_with(const std::string& private_key) {
  PC_TRY(const SignedText made, sign(signed_text(), private_key));
  const Digest id = made.key.id();
  std::erase_if(signatures_, [&](const Signed& s) { return s.key_id == id; });
  signatures_.push_back({id, made.signature});
  return ok();
}

std::string Manifest::signed_text() const {
  std::string text = std::string(kTitle) + std::string(kVersion) + "\n";
  for (const ManifestEntry& e : entries_)
    text += pc::to_hex(e.key) + " " + std::to_string(e.n_bytes) + " " + pc::to_hex(e.sha256) + "\n";
  return text;
}

std::string Manifest::text() const {
  std::string text = signed_text();
  for (const Signed& s : signatures_)
    text += std::string(kSigned) + " " + pc::to_hex(s.key_id) + " " + to_hex(s.signature) + "\n";
  return text;
}

}  // namespace pc
