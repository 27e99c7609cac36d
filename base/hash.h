// The two hashes of the project.
//
// Sha256 names things (identities: keys, digests), because attackers may
// choose the input. checksum64 (XXH3) finds damage in bytes that we wrote; it
// proves nothing about their author.
//
// Home of OpenSSL's EVP and of xxhash. Threads: values, thread-compatible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pc {

using Digest = std::array<std::uint8_t, 32>;

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  // Raw bytes: for contents whose length is known by other means.
  Sha256& update(std::span<const std::byte> bytes);
  Sha256& update(std::string_view text) { return update(std::as_bytes(std::span(text))); }

  // A length-prefixed field (u64 length, then the bytes), so that no two
  // different sequences of fields hash the same stream of bytes.
  Sha256& field(std::span<const std::byte> bytes);
  Sha256& field(std::string_view text) { return field(std::as_bytes(std::span(text))); }
  Sha256& field(std::uint64_t value);

  // Ends the hash; the object must not be used afterwards.
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest sha256(std::span<const std::byte> bytes);

// For tables by digest, whose bytes are as good as random.
struct DigestHash {
  std::size_t operator()(const Digest& digest) const {
    std::size_t hash = 0;
    std::memcpy(&hash, digest.data(), sizeof hash);
    return hash;
  }
};

// 64 lower-case hexadecimal digits.
std::string to_hex(const Digest& digest);
// Nothing but exactly 64 lower-case hexadecimal digits is accepted.
std::optional<Digest> from_hex(std::string_view text);

std::uint64_t checksum64(std::span<const std::byte> bytes);

}  // namespace pc
