#include "base/hash.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <xxhash.h>

#include <memory>
#include <new>

namespace pc {

struct Sha256::State {
  struct Free {
    void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
  // Both fail only when memory is exhausted. The thread's queue of errors is its host's: nothing of
  // ours stays in it.
  State() {
    const bool has_mark = ERR_set_mark() == 1;  // else the queue is empty
    if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1) {
      ERR_pop_to_mark();
      throw std::bad_alloc();
    }
    if (has_mark) ERR_clear_last_mark();
  }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

Sha256& Sha256::update(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
  return *this;
}

Sha256& Sha256::field(std::span<const std::byte> bytes) {
  const std::uint64_t n = bytes.size();
  update(std::as_bytes(std::span(&n, 1)));
  return update(bytes);
}

Sha256& Sha256::field(std::uint64_t value) {
  return field(std::as_bytes(std::span(&value, 1)));
}

Digest Sha256::finish() {
  Digest digest{};
  EVP_DigestFinal_ex(state_->context.get(), digest.data(), nullptr);
  return digest;
}

Digest sha256(std::span<const std::byte> bytes) {
  return Sha256().update(bytes).finish();
}

namespace {

constexpr char kDigits[] = "0123456789abcdef";
constexpr std::uint8_t kNoNibble = 16;
// [character]: a table, since folders of thousands of names are read by it.
constexpr auto kNibbles = [] {
  std::array<std::uint8_t, 256> nibbles{};
  nibbles.fill(kNoNibble);
  for (std::uint8_t i = 0; i < kNoNibble; ++i) nibbles[static_cast<std::uint8_t>(kDigits[i])] = i;
  return nibbles;
}();

}  // namespace

std::string to_hex(const Digest& digest) {
  std::string text;
  text.reserve(2 * digest.size());
  for (const std::uint8_t b : digest) {
    text += kDigits[b >> 4];
    text += kDigits[b & 15];
  }
  return text;
}

std::optional<Digest> from_hex(std::string_view text) {
  Digest digest{};
  if (text.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint8_t nibble = kNibbles[static_cast<std::uint8_t>(text[i])];
    if (nibble == kNoNibble) return std::nullopt;
    digest[i / 2] = static_cast<std::uint8_t>(digest[i / 2] << 4 | nibble);
  }
  return digest;
}

std::uint64_t checksum64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace pc
