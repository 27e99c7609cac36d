// Hints of links: the longest in common first, bounded, shared by processes, never in the way.
#include "modules/link_hints.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/modules/support.h"
#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

ModuleKey key(std::uint8_t fill) {
  return {digest(fill)};
}

std::vector<std::int32_t> departing(std::size_t n_common, std::int32_t other, std::size_t n) {
  std::vector<std::int32_t> tokens = numbered(0, n_common);
  const auto rest = numbered(other, n - n_common);
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  return tokens;
}

}  // namespace

TEST_CASE("the files that begin as a text does come, the longest in common first") {
  const TempFolder folder;
  const LinkHints hints = LinkHints::open(folder.path(), true);
  const Digest place = digest(9);
  hints.add(place, departing(20, 1000, 60), key(1));
  hints.add(place, departing(70, 2000, 90), key(2));
  hints.add(place, departing(4, 3000, 60), key(3));
  const auto wanted = numbered(0, 100);
  CHECK(hints.likely(place, wanted) == std::vector<ModuleKey>{key(2), key(1)});
  CHECK(hints.likely(digest(8), wanted).empty());
  CHECK(hints.likely(place, numbered(0, 7)).empty());
  const LinkHints other = LinkHints::open(folder.path(), false);
  CHECK(other.likely(place, wanted) == std::vector<ModuleKey>{key(2), key(1)});
  other.add(place, wanted, key(4));  // may not write
  CHECK(other.likely(place, wanted).size() == 2);
  hints.clear();
  CHECK(other.likely(place, wanted).empty());
}

TEST_CASE("a place remembers the latest of many links, each once") {
  const TempFolder folder;
  const LinkHints hints = LinkHints::open(folder.path(), true);
  const auto tokens = numbered(0, 40);
  for (int round = 0; round < 2; ++round)
    for (std::uint8_t i = 1; i <= 100; ++i) hints.add(digest(9), tokens, key(i));
  const auto keys = hints.likely(digest(9), tokens);
  REQUIRE(keys.size() == LinkHints::kMostRecords);
  CHECK(keys.front() == key(100));
  CHECK(keys.back() == key(static_cast<std::uint8_t>(101 - LinkHints::kMostRecords)));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() + "/v3/next"))
    CHECK(entry.file_size() <= 4096);
}

TEST_CASE("what is no hint says nothing, and is replaced") {
  const TempFolder folder;
  const LinkHints hints = LinkHints::open(folder.path(), true);
  const auto tokens = numbered(0, 40);
  hints.add(digest(9), tokens, key(1));
  const std::string path = folder.path() + "/v3/next/" + to_hex(digest(9));
  for (const std::string& bytes : {std::string(), std::string("x"), std::string(5000, 'x'),
                                   std::string(72, 'x'), std::string("pcnext1\n") + "short"}) {
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << bytes;
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    CHECK(hints.likely(digest(9), tokens).empty());
    hints.add(digest(9), tokens, key(2));
    CHECK(hints.likely(digest(9), tokens) == std::vector<ModuleKey>{key(2)});
  }
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/etc/passwd", path);
  CHECK(hints.likely(digest(9), tokens).empty());
}

TEST_CASE("a store that cannot have hints goes without") {
  const TempFolder folder;
  const LinkHints none;
  none.add(digest(9), numbered(0, 40), key(1));
  none.clear();
  CHECK(none.likely(digest(9), numbered(0, 40)).empty());
  std::filesystem::create_directories(folder.path() + "/v3");
  std::ofstream(folder.path() + "/v3/next") << "a file";
  const LinkHints blocked = LinkHints::open(folder.path(), true);
  blocked.add(digest(9), numbered(0, 40), key(1));
  CHECK(blocked.likely(digest(9), numbered(0, 40)).empty());
}

}  // namespace pc::test
