// Texts of earlier conversations are found again as they were, each once, and no more than there is
// room for; damage is no record.
#include "runtime/schema/chat_stand_ins.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/schema/schema_record.h"
#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

using Texts = std::vector<std::string>;

Digest digest_of(unsigned char first) {
  Digest digest{};
  digest[0] = first;
  return digest;
}

std::string document(char c, std::size_t size = kLeastStandInBytes) {
  return std::string(size - 8, c) + "\n\ntext 3";
}

TEST_CASE("what was offered stands in, in the order of coming, each text once") {
  const TempFolder cache;
  const Digest key = digest_of(1);
  CHECK(recall_stand_ins(key, cache.path()).empty());
  for (const char c : {'b', 'a', 'b', 'c'}) offer_stand_in(key, document(c), cache.path());
  CHECK(recall_stand_ins(key, cache.path()) == Texts{document('b'), document('a'), document('c')});
  CHECK(recall_stand_ins(digest_of(2), cache.path()).empty());
}

TEST_CASE("short texts do not stand in, of long ones the beginning does, and only the first ones") {
  const TempFolder cache;
  const Digest key = digest_of(1);
  offer_stand_in(key, std::string(kLeastStandInBytes - 1, 'x'), cache.path());
  CHECK(recall_stand_ins(key, cache.path()).empty());
  // The last character that would be cut amid goes.
  offer_stand_in(key, std::string(kMostStandInBytes - 1, 'x') + "\u00e9\u00e9", cache.path());
  CHECK(recall_stand_ins(key, cache.path()) == Texts{std::string(kMostStandInBytes - 1, 'x')});
  for (char c = 'a'; c <= 'z'; ++c)
    offer_stand_in(key, std::string(2 * kMostStandInBytes, c), cache.path());
  const Texts kept = recall_stand_ins(key, cache.path());
  REQUIRE(kept.size() == kMostChatStandIns);
  CHECK(kept[1] == std::string(kMostStandInBytes, 'a'));
}

TEST_CASE("who empties the store leaves no text behind") {
  const TempFolder cache;
  for (unsigned char i = 1; i <= 3; ++i) offer_stand_in(digest_of(i), document('a'), cache.path());
  forget_stand_ins(cache.path());
  for (unsigned char i = 1; i <= 3; ++i)
    CHECK(recall_stand_ins(digest_of(i), cache.path()).empty());
  // Neither does a process that was killed while it wrote one.
  const std::string torn = cache.path() + "/stand-ins/12.34.5";
  REQUIRE(std::filesystem::is_directory(cache.path() + "/stand-ins"));
  std::ofstream(torn) << document('a');
  forget_stand_ins(cache.path());
  CHECK_FALSE(std::filesystem::exists(torn));
  forget_stand_ins(cache.path() + "/nowhere");
}

TEST_CASE("without a folder, and in a damaged record, there are none") {
  const TempFolder cache;
  const Digest key = digest_of(1);
  offer_stand_in(key, document('a'), "");
  CHECK(recall_stand_ins(key, "").empty());
  for (const char* const body : {"text 5\nab\n", "text x\nab\n", "ab\n", "text 2\nab\ntext\n",
                                 "text 99999\nab\n", "text 1\n\xff\n"}) {
    REQUIRE(remember_record("stand-ins", key, std::string(body) + "\n", cache.path()));
    INFO(body);
    CHECK(recall_stand_ins(key, cache.path()).empty());
  }
}

}  // namespace
}  // namespace pc::test
