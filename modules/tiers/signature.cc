#include "modules/tiers/signature.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "modules/store/file_access.h"  // system_error

namespace pc {
namespace {

template <auto free>
struct Free {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Context = std::unique_ptr<EVP_MD_CTX, Free<EVP_MD_CTX_free>>;

// A library asks nobody for a passphrase.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

// Was it memory that OpenSSL lacked? It says so of its last calls or, without memory for that,
// nothing.
bool ran_out_of_memory() {
  const unsigned long first = ERR_peek_error();
  for (unsigned long e = first; e != 0; e = ERR_get_error())
    if (ERR_GET_REASON(e) == ERR_R_MALLOC_FAILURE) return true;
  return first == 0;
}

Result<Key> read_key(const std::string& path, const char* what,
                     EVP_PKEY* (*read)(FILE*, EVP_PKEY**, pem_password_cb*, void*)) {
  const std::unique_ptr<FILE, Free<std::fclose>> file(std::fopen(path.c_str(), "re"));
  if (!file && errno == ENOMEM) return error(Code::kOutOfMemory, "not enough memory");
  if (!file) return system_error("cannot open the key", path, errno);
  ERR_clear_error();
  Key key(read(file.get(), nullptr, &no_passphrase, nullptr));
  if (!key && ran_out_of_memory()) return error(Code::kOutOfMemory, "not enough memory");
  if (key && EVP_PKEY_id(key.get()) == EVP_PKEY_ED25519) return key;
  return error(Code::kInvalidArgument,
               path + " holds no " + what + " key of Ed25519 in PEM, without a passphrase");
}

const std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

}  // namespace

Result<PublicKey> PublicKey::read(const std::string& path) {
  PC_TRY(const Key key, read_key(path, "public", PEM_read_PUBKEY));
  PublicKey out;
  std::size_t n = out.bytes_.size();
  if (EVP_PKEY_get_raw_public_key(key.get(), out.bytes_.data(), &n) == 1) return out;
  return error(Code::kInvalidArgument, path + " holds a key that cannot be read");
}

Digest PublicKey::id() const {
  return sha256(std::as_bytes(std::span(bytes_)));
}

bool PublicKey::verifies(std::string_view text, const Signature& signature) const {
  const Key key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_.data(), bytes_.size()));
  const Context context(EVP_MD_CTX_new());
  return key && context &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), signature.data(), signature.size(), bytes_of(text),
                          text.size()) == 1;
}

Result<SignedText> sign(std::string_view text, const std::string& path) {
  PC_TRY(const Key key, read_key(path, "private", PEM_read_PrivateKey));
  const Context context(EVP_MD_CTX_new());
  SignedText out;
  std::size_t n_key = out.key.bytes_.size(), n = out.signature.size();
  if (context && EVP_PKEY_get_raw_public_key(key.get(), out.key.bytes_.data(), &n_key) == 1 &&
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
      EVP_DigestSign(context.get(), out.signature.data(), &n, bytes_of(text), text.size()) == 1)
    return out;
  return error(Code::kInternal, "OpenSSL could not sign with " + path);
}

}  // namespace pc
