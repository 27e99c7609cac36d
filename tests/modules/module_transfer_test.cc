// Modules that leave one store and come into another.
#include "modules/module_transfer.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "tests/modules/store_support.h"
#include "tests/support/expect.h"

namespace pc::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("what one store exports another imports, byte for byte, and finds") {
  const TempFolder from, to, out;
  const auto source = open_store(from.path()), target = open_store(to.path());
  const ModuleKey key = put(*source, identity());
  const std::string file = out.path() + "/guide.module";
  must(export_modules(*source, std::array{key}, file));
  CHECK(fs::file_size(file) == stored_size(identity()).bytes);
  CHECK(miss_of(*target, identity()) == MissReason::kNotEncoded);
  CHECK(must(import_modules(*target, file)) == std::vector{key});
  const Lookup found = target->find(identity());
  REQUIRE(found);
  CHECK(std::ranges::equal(found.module->bytes(), source->find(identity()).module->bytes()));
  CHECK(must(import_modules(*target, file)) == std::vector{key});  // it is there already
}

TEST_CASE("an export or an import tells how far it is, and leaves nothing when it is stopped") {
  const TempFolder from, to, out;
  const auto source = open_store(from.path()), target = open_store(to.path());
  const ModuleKey key = put(*source, identity());
  const std::string file = out.path() + "/guide.module";
  std::uint64_t n_told = 0, stop_at = 0, latest = 0;
  const auto tell = [&](std::uint64_t done, std::uint64_t total) {
    CHECK(done < total);
    CHECK(done >= latest);
    latest = done;
    return ++n_told != stop_at;
  };
  const auto count = [&] { return latest = 0, std::exchange(n_told, 0); };
  must(export_modules(*source, std::array{key}, file, tell));
  const std::uint64_t n_export = count();
  REQUIRE(n_export >= 2);  // while it reads, and while it writes
  fs::remove(file);
  for (stop_at = 1; stop_at <= n_export; ++stop_at) {
    CHECK(export_modules(*source, std::array{key}, file, tell).error().code == Code::kCancelled);
    CHECK_FALSE(fs::exists(file));
    count();
  }
  stop_at = 0;
  must(export_modules(*source, std::array{key}, file));
  const TempFolder other;
  must(import_modules(*open_store(other.path()), file, tell));
  const std::uint64_t n_import = count();
  REQUIRE(n_import >= 2);
  for (stop_at = 1; stop_at <= n_import; ++stop_at) {
    CHECK(import_modules(*target, file, tell).error().code == Code::kCancelled);
    CHECK(target->list().value().empty());
    count();
  }
}

TEST_CASE("nothing is overwritten, and nothing unsound is exported or imported") {
  const TempFolder from, to, out;
  const auto source = open_store(from.path()), target = open_store(to.path());
  const ModuleKey key = put(*source, identity());
  const std::string file = out.path() + "/guide.module";
  must(export_modules(*source, std::array{key}, file));
  expect_error(export_modules(*source, std::array{key}, file), Code::kInvalidArgument, 0, 0,
               "guide.module");
  expect_error(export_modules(*source, std::array{key}, out.path() + "/no/such/folder"), Code::kIo,
               0, 0, "/no/such/folder");
  expect_error(import_modules(*target, out.path() + "/none"), Code::kNotFound, 0, 0, "/none");

  const std::uint64_t size = fs::file_size(file);
  for (const std::uint64_t at : {std::uint64_t{0}, size / 2, size - 1}) {
    CAPTURE(at);
    const std::string bad = out.path() + "/bad" + std::to_string(at);
    fs::copy_file(file, bad);
    std::fstream bytes(bad, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(at));
    const char flipped = static_cast<char>(bytes.get() ^ 1);
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put(flipped);
    bytes.close();
    const auto imported = import_modules(*target, bad);
    REQUIRE_FALSE(imported.ok());
    CHECK(imported.error().message.find(bad) != std::string::npos);
  }
  fs::resize_file(file, size - 1);
  CHECK(import_modules(*target, file).error().code == Code::kCorrupt);
  CHECK(target->list().value().empty());

  overwrite(object_path(from.path(), key), size - 1, "x");
  const std::string again = out.path() + "/again";
  expect_error(export_modules(*source, std::array{key}, again), Code::kCorrupt, 0, 0, "");
  CHECK_FALSE(fs::exists(again));
}

TEST_CASE("modules travel together, whatever their sizes, and all are verified before one is in") {
  const TempFolder from, to, out;
  const auto source = open_store(from.path()), target = open_store(to.path());
  std::vector<ModuleKey> keys;
  std::vector<std::uint64_t> sizes;
  for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kQ8, KvType::kF32}) {
    const auto salt = static_cast<std::int32_t>(keys.size());
    keys.push_back(put(*source, identity(salt, type)));
    sizes.push_back(stored_size(identity(salt, type)).bytes);
  }
  const std::string file = out.path() + "/all.modules";
  must(export_modules(*source, keys, file));
  CHECK(export_modules(*source, {}, file + "2").error().code == Code::kInvalidArgument);

  SECTION("and come in") {
    CHECK(must(import_modules(*target, file)) == keys);
    for (const ModuleKey& key : keys) CHECK(target->verify(key).ok());
  }
  SECTION("but not with damage anywhere") {
    const std::uint64_t second = 4096 + (sizes[0] + 4095) / 4096 * 4096;
    const auto total = fs::file_size(file);
    const std::uint64_t spoiled =
        GENERATE_COPY(std::uint64_t{3}, std::uint64_t{9}, std::uint64_t{17}, std::uint64_t{30},
                      std::uint64_t{900}, second + 1, second + 48, second + 400, total - 1);
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(spoiled));
    const char flipped = static_cast<char>(bytes.get() ^ 1);
    bytes.seekp(static_cast<std::streamoff>(spoiled));
    bytes.put(flipped);
    bytes.close();
    CAPTURE(spoiled);
    CHECK_FALSE(import_modules(*target, file).ok());
    CHECK(target->list()->empty());
  }
  SECTION("nor cut, nor with something behind") {
    const auto total = fs::file_size(file);
    // Some of these end exactly behind a module.
    const std::uint64_t size =
        GENERATE_COPY(total - 1, total - sizes[3], 4096 + sizes[0], 4096 + sizes[0] + 1,
                      std::uint64_t{4096}, std::uint64_t{56}, total + 1, total + 5000);
    const bool appends = GENERATE(true, false);
    CAPTURE(size, appends);
    fs::resize_file(file, size);
    if (appends) std::ofstream(file, std::ios::app | std::ios::binary) << "x";
    CHECK_FALSE(import_modules(*target, file).ok());
    CHECK(target->list()->empty());
  }
}

}  // namespace
}  // namespace pc::test
