// The first two pairs of keys of RFC 8032, 7.1 (Ed25519), in PEM, which is published and guards
// nothing.
#pragma once

#include <string>

#include "tests/support/temp_folder.h"

namespace pc::test {

inline constexpr char kAnnKey[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    "-----END PRIVATE KEY-----\n";
inline constexpr char kAnnPub[] =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
    "-----END PUBLIC KEY-----\n";
inline constexpr char kBobKey[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n"
    "-----END PRIVATE KEY-----\n";
inline constexpr char kBobPub[] =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=\n"
    "-----END PUBLIC KEY-----\n";

// The keys as files: <name>.key and <name>.pub.
class SigningKeys {
 public:
  SigningKeys() {
    folder_.write("ann.key", kAnnKey);
    folder_.write("ann.pub", kAnnPub);
    folder_.write("bob.key", kBobKey);
    folder_.write("bob.pub", kBobPub);
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

 private:
  TempFolder folder_;
};

}  // namespace pc::test
