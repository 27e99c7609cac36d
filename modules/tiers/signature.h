// Ed25519 signatures (RFC 8032), by OpenSSL: who vouches for a text. Keys are files in PEM, as
// `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` write them.
//
// Threads: values; const methods from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/status.h"

namespace pc {

using Signature = std::array<std::uint8_t, 64>;

class PublicKey {
 public:
  // kNotFound, kIo; kInvalidArgument where the file holds no public key of Ed25519.
  static Result<PublicKey> read(const std::string& path);

  Digest id() const;  // SHA-256 of its 32 bytes
  bool verifies(std::string_view text, const Signature& signature) const;

 private:
  friend struct SignedText;
  friend Result<struct SignedText> sign(std::string_view text, const std::string& path);
  std::array<std::uint8_t, 32> bytes_{};
};

// A signature, and the public key of the private one that made it.
struct SignedText {
  PublicKey key;
  Signature signature{};
};

// With the private key in this file. kNotFound, kIo; kInvalidArgument where the file holds no
// private key of Ed25519, or one under a passphrase.
Result<SignedText> sign(std::string_view text, const std::string& path);

}  // namespace pc
