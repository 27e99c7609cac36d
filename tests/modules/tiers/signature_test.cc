#include "modules/tiers/signature.h"

#include <catch2/catch.hpp>

#include "tests/support/expect.h"
#include "tests/support/signing_keys.h"

namespace pc::test {
namespace {

Signature from_hex_digits(const std::string& hex) {
  const Digest first = from_hex(hex.substr(0, 64)).value(),
               second = from_hex(hex.substr(64)).value();
  Signature out;
  std::ranges::copy(second, std::ranges::copy(first, out.begin()).out);
  return out;
}

TEST_CASE("signatures are those of RFC 8032, and hold for their text and key alone") {
  const SigningKeys keys;
  // 7.1, tests 1 and 2.
  const Signature of_nothing = from_hex_digits(
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9"
      "b46bd25bf5f0595bbe24655141438e7a100b");
  const Signature of_r = from_hex_digits(
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f1"
      "1d8c387b2eaeb4302aeeb00d291612bb0c00");
  CHECK(must(sign("", keys.path("ann.key"))).signature == of_nothing);
  CHECK(must(sign("r", keys.path("bob.key"))).signature == of_r);
  const PublicKey ann = must(PublicKey::read(keys.path("ann.pub")));
  const PublicKey bob = must(PublicKey::read(keys.path("bob.pub")));
  CHECK(ann.verifies("", of_nothing));
  CHECK(bob.verifies("r", of_r));
  CHECK_FALSE(bob.verifies("", of_nothing));
  CHECK_FALSE(bob.verifies("s", of_r));
  CHECK(ann.id() != bob.id());
  CHECK(must(sign("text", keys.path("ann.key"))).key.id() == ann.id());
}

TEST_CASE("each changed bit of a signature is found") {
  const SigningKeys keys;
  const SignedText made = must(sign("a text", keys.path("ann.key")));
  for (std::size_t bit = 0; bit < 8 * made.signature.size(); ++bit) {
    Signature other = made.signature;
    other[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    CHECK_FALSE(made.key.verifies("a text", other));
  }
}

TEST_CASE("a file that is no key, or another's kind of key, is named") {
  const SigningKeys keys;
  const TempFolder folder;
  folder.write("empty", "");
  // Of P-256, and one under a passphrase.
  folder.write("other",
               "-----BEGIN PUBLIC KEY-----\n"
               "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt\n"
               "6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==\n"
               "-----END PUBLIC KEY-----\n");
  for (const char* const name : {"empty", "other"})
    expect_error(PublicKey::read(folder.path() + "/" + name), Code::kInvalidArgument, 0, 0, name);
  expect_error(PublicKey::read(keys.path("ann.key")), Code::kInvalidArgument, 0, 0, "public key");
  expect_error(sign("", keys.path("ann.pub")), Code::kInvalidArgument, 0, 0, "private key");
  expect_error(PublicKey::read(folder.path() + "/none"), Code::kNotFound, 0, 0, "none");
}

}  // namespace
}  // namespace pc::test
