#include "tools/serve/service/api_keys.h"

#include <openssl/evp.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace pc::serve {
namespace {

constexpr std::size_t kDigestDigits = 64;
constexpr std::size_t kMostName = 64;

std::string digest_of(std::string_view key) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned n = 0;
  if (EVP_Digest(key.data(), key.size(), bytes.data(), &n, EVP_sha256(), nullptr) != 1) return "";
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (unsigned i = 0; i < n; ++i) {
    digits += kDigits[bytes[i] / 16];
    digits += kDigits[bytes[i] % 16];
  }
  return digits;
}

bool is_digest(const std::string& word) {
  return word.size() == kDigestDigits && word.find_first_not_of("0123456789abcdef") == word.npos;
}

bool is_name(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '@';
  };
  return word.size() <= kMostName && std::ranges::all_of(word, is_plain);
}

// What a request gives for its key; "" for none.
std::string key_in(const HttpRequest& request) {
  if (const std::string* const own = request.header("x-api-key")) return *own;
  const std::string* const bearer = request.header("authorization");
  constexpr std::string_view kScheme = "bearer ";
  if (!bearer || bearer->size() <= kScheme.size()) return "";
  const auto same = [](unsigned char a, char b) { return std::tolower(a) == b; };
  const bool fits = std::equal(kScheme.begin(), kScheme.end(), bearer->begin(),
                               [&](char b, unsigned char a) { return same(a, b); });
  return fits ? bearer->substr(kScheme.size()) : "";
}

}  // namespace

ApiKeys ApiKeys::read(std::string_view text, const std::string& name) {
  ApiKeys keys;
  keys.is_used_ = true;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string name_space, digest, more;
    words >> name_space >> digest >> more;
    if (name_space.empty() || name_space.starts_with('#')) continue;
    const std::string where = name + ":" + std::to_string(number) + ": ";
    if (!is_name(name_space))
      throw KeyFileError(where + "a namespace has letters, digits and - _ . @, at most 64");
    if (!is_digest(digest) || !more.empty())
      throw KeyFileError(where +
                         "behind the namespace stands the SHA-256 of the key, 64 lower-case "
                         "hexadecimal digits (printf %s KEY | sha256sum), and nothing else");
    if (!keys.name_spaces_.emplace(digest, name_space).second)
      throw KeyFileError(where + "this key stands there twice");
  }
  if (keys.name_spaces_.empty()) throw KeyFileError(name + ": it has no key");
  return keys;
}

ApiKeys ApiKeys::read_file(const std::string& path) {
  struct stat facts {};
  std::ifstream file(path);
  if (!file || ::stat(path.c_str(), &facts) != 0) throw KeyFileError(path + ": it cannot be read");
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw KeyFileError(path + ": others may write it, and so let themselves in; chmod go-w");
  return read(std::string(std::istreambuf_iterator<char>(file), {}), path);
}

std::vector<std::string> ApiKeys::name_spaces() const {
  std::set<std::string> names;
  for (const auto& [digest, name] : name_spaces_) names.insert(name);
  return {names.begin(), names.end()};
}

bool ApiKeys::has_key(const HttpRequest& request) {
  return !key_in(request).empty();
}

std::optional<std::optional<std::string>> ApiKeys::name_space_of(const HttpRequest& request) const {
  if (!is_used_) return std::optional<std::string>();
  const auto found = name_spaces_.find(digest_of(key_in(request)));
  if (found == name_spaces_.end()) return std::nullopt;
  return std::optional(found->second);
}

}  // namespace pc::serve
