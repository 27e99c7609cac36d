#include "modules/store_pull.h"

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>

#include "modules/tiers/manifest.h"
#include "tests/modules/store_support.h"
#include "tests/support/expect.h"
#include "tests/support/signing_keys.h"

namespace pc::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a pull copies what is not there, and goes on where it was ended") {
  const TempFolder from, to;
  const auto source = open_store(from.path());
  for (int i = 0; i < 5; ++i) put(*source, identity(i));
  const auto store = open_store(to.path());
  int n_told = 0;
  const auto stop_at_third = [&](std::uint64_t done, std::uint64_t total) {
    CHECK(total == 5);
    CHECK(done == static_cast<std::uint64_t>(n_told));
    return ++n_told < 3;
  };
  CHECK(pull_modules(*store, from.path(), {}, {}, stop_at_third).error().code == Code::kCancelled);
  CHECK(store->list().value().size() == 2);
  const PullReport rest = must(pull_modules(*store, from.path(), {}, {}));
  CHECK(rest.n_there == 2);
  CHECK(rest.n_copied == 3);
  CHECK(rest.copied_bytes == 3 * stored_size(identity()).bytes);
  CHECK(rest.failed.empty());
  for (int i = 0; i < 5; ++i) {
    const Lookup found = store->find(identity(i));
    REQUIRE(found);
    CHECK(std::ranges::equal(found.module->bytes(), source->find(identity(i)).module->bytes()));
  }
}

TEST_CASE("a pull of some takes these, and says of each that it cannot have why") {
  const TempFolder from, to;
  const auto source = open_store(from.path()), store = open_store(to.path());
  const ModuleKey sound = put(*source, identity()), bad = put(*source, identity(1)),
                  not_wanted = put(*source, identity(2)), missing = key_of(identity(3));
  overwrite(object_path(from.path(), bad), stored_size(identity()).bytes - 1, "x");
  const PullReport report =
      must(pull_modules(*store, from.path(), {}, std::array{sound, bad, missing}));
  CHECK(report.n_copied == 1);
  REQUIRE(report.failed.size() == 2);
  CHECK(report.failed[0].first == bad);
  CHECK(report.failed[1].first == missing);
  CHECK_THAT(report.failed[1].second, Catch::Matchers::Contains("not in"));
  CHECK(miss_of(*store, identity(2)) == MissReason::kNotEncoded);
  CHECK(store->list().value().size() == 1);
  CHECK(not_wanted != sound);
}

TEST_CASE("a pull from nowhere, or into a store that takes nothing, is an error that says so") {
  const TempFolder from, to;
  put(*open_store(from.path()), identity());
  expect_error(pull_modules(*open_store(to.path()), to.path() + "/none", {}, {}), Code::kNotFound,
               0, 0, "/none");
  const auto reads = must(ModuleStore::open({.dir = to.path(), .read_only = true}));
  expect_error(pull_modules(*reads, from.path(), {}, {}), Code::kIo, 0, 0, "read-only");
  const auto small = open_store(to.path(), 64);
  expect_error(pull_modules(*small, from.path(), {}, {}), Code::kBudget, 0, 0, "64");
}

TEST_CASE("where keys are named, a pull takes what they signed alone, whoever owns it") {
  const SigningKeys keys;
  const TempFolder from, to;
  const auto source = open_store(from.path()), store = open_store(to.path());
  const ModuleKey key = put(*source, identity());
  const std::vector ann{must(PublicKey::read(keys.path("ann.pub")))};
  const std::vector bob{must(PublicKey::read(keys.path("bob.pub")))};
  expect_error(pull_modules(*store, from.path(), ann, {}), Code::kIo, 0, 0, "manifest");
  must(write_manifest(*source, keys.path("ann.key"), ""));
  put(*source, identity(1));  // later
  expect_error(pull_modules(*store, from.path(), bob, {}), Code::kIo, 0, 0, "no signature");
  CHECK(must(pull_modules(*store, from.path(), ann, {})).n_copied == 1);
  CHECK(must(store->list()).front().key == key.digest);
  const PullReport other =
      must(pull_modules(*store, from.path(), ann, std::array{key_of(identity(1))}));
  CHECK(other.failed.size() == 1);
}

TEST_CASE("a manifest lists and signs every file, and those of another list") {
  const SigningKeys keys;
  const TempFolder dir, other;
  const auto store = open_store(dir.path());
  const ModuleKey key = put(*store, identity());
  CHECK(must(write_manifest(*store, keys.path("ann.key"), "")) == 1);
  const std::string path = dir.path() + "/v3/manifest";
  const Manifest written = must(Manifest::read(path));
  REQUIRE(written.find(key.digest));
  CHECK(written.find(key.digest)->sha256 == sha256(store->find(identity()).module->bytes()));
  CHECK(written.is_signed_by(std::array{must(PublicKey::read(keys.path("ann.pub")))}));
  const auto more = open_store(other.path());
  put(*more, identity(1));
  CHECK(must(write_manifest(*more, "", path)) == 2);
  CHECK(must(write_manifest(*more, keys.path("ann.key"), path)) == 2);
  expect_error(write_manifest(*more, keys.path("bob.key"), path), Code::kMismatch, 0, 0, "bob.key");
  CHECK(must(Manifest::read(other.path() + "/v3/manifest")).find(key.digest));
  expect_error(write_manifest(*more, "", other.path() + "/none"), Code::kNotFound, 0, 0, "none");
  expect_error(write_manifest(*more, other.path() + "/key", ""), Code::kNotFound, 0, 0, "key");
  // Where a file is damaged nothing is signed, and the list before stays.
  overwrite(object_path(dir.path(), key), stored_size(identity()).bytes - 1, "x");
  expect_error(write_manifest(*store, "", ""), Code::kCorrupt, 0, 0, key.hex());
  CHECK(must(Manifest::read(path)).text() == written.text());
}

}  // namespace
}  // namespace pc::test
