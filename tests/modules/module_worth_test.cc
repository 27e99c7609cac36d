// What a module's file is worth, read from the file and from no more than its first page.
#include "modules/module_worth.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/modules/store_support.h"

namespace pc {
namespace {

// 256 tokens that stand at `position` of a conversation.
ModuleIdentity link(std::int32_t position, std::int32_t salt = 0) {
  ModuleIdentity id = test::identity();
  id.attend = kLinkAttend;
  id.context = test::digest(9);
  id.runs = {{test::numbered(50 * salt, 256), position, true}};
  return id;
}

double worth_of(const ModuleHandle& module) {
  return module_worth(module->bytes().first(std::min<std::size_t>(4096, module->bytes().size())));
}

TEST_CASE("a link is worth more the deeper it stands: twice as much at 32,768 tokens") {
  CHECK(worth_of(test::make_module(link(0))) == 1 + 128 / 32768.0);
  CHECK(worth_of(test::make_module(link(32768 - 128))) == 2);
  CHECK(worth_of(test::make_module(link(3 * 32768 - 128))) == 4);
}

TEST_CASE("a module's positions are its own, so its depth is half of its tokens") {
  CHECK(worth_of(test::make_module(test::identity())) == 1 + 11 / 32768.0);
  ModuleIdentity elsewhere = link(50000);
  elsewhere.attend = 0;
  elsewhere.context = {};
  elsewhere.origin = 50000;
  elsewhere.runs[0].position = 0;
  CHECK(worth_of(test::make_module(elsewhere)) == 1 + 128 / 32768.0);
}

TEST_CASE("a link whose table of runs is not on its first page counts by its tokens") {
  ModuleIdentity many = link(32768);
  many.geometry = KvGeometry(500, 1, 8);  // 4,000 bytes of layers
  CHECK(worth_of(test::make_module(many)) == 1 + 128 / 32768.0);
}

TEST_CASE("states of recurrent layers cost as much at any depth") {
  ModuleIdentity recurrent = link(32768);
  recurrent.n_recurrent = 16;
  CHECK(worth_of(test::make_module(recurrent)) == 1);
}

TEST_CASE("what is no module is worth 1, whatever its bytes are") {
  const ModuleHandle module = test::make_module(link(32768));
  for (const std::size_t n : {0, 1, 511, 512, 519})
    CHECK(module_worth(module->bytes().first(n)) == 1);
  for (std::size_t at = 0; at < 16; ++at) {  // magic, order of bytes, version
    test::Bytes bytes(module->bytes().first(4096));
    bytes[at] ^= std::byte{1};
    CHECK(module_worth(bytes.span()) == 1);
  }
}

TEST_CASE("no byte of a first page makes a worth that is none") {
  const ModuleHandle module = test::make_module(link(32768));
  for (std::size_t at = 0; at < 1024; ++at)
    for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
      test::Bytes bytes(module->bytes().first(4096));
      bytes[at] ^= static_cast<std::byte>(flip);
      const double worth = module_worth(bytes.span());
      REQUIRE((worth >= 1 && worth <= 1 + 1.5 * kMaxModuleTokens / kDoubledDepth));
    }
}

TEST_CASE("a file is opened once, and one that is not there is worth 1") {
  const test::TempFolder dir;
  const auto store = test::open_store(dir.path());
  const ModuleKey key = test::put(*store, link(32768 - 128));
  const CacheFolder folder = test::open_folder(dir.path());
  ModuleWorths worths;
  CHECK(worths.of(folder, test::digest(1)) == 1);
  CHECK(worths.of(folder, key.digest) == 2);
  std::filesystem::remove(test::object_path(dir.path(), key));
  CHECK(worths.of(folder, key.digest) == 2);
  CHECK(ModuleWorths().of(folder, key.digest) == 1);
}

}  // namespace
}  // namespace pc
