// A store with stores behind it: what is found, where it then lies, and what is not trusted.
#include "modules/tier_search.h"

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "modules/store_pull.h"
#include "tests/modules/store_support.h"
#include "tests/support/expect.h"
#include "tests/support/signing_keys.h"

namespace pc::test {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<ModuleStore> open_behind(const std::string& dir, TierOptions tiers,
                                         bool read_only = false) {
  return must(ModuleStore::open({.dir = dir,
                                 .read_only = read_only,
                                 .durability = Durability::kNone,
                                 .tiers = std::move(tiers)}));
}

std::size_t n_files(const std::string& dir) {
  const fs::path objects = dir + "/v3/objects";
  return fs::exists(objects) ? static_cast<std::size_t>(std::distance(
                                   fs::directory_iterator(objects), fs::directory_iterator()))
                             : 0;
}

TEST_CASE("what a store lacks is found behind it, and mapped where it lies") {
  const TempFolder own, tier;
  const ModuleKey key = put(*open_store(tier.path()), identity());
  const auto store = open_behind(own.path(), {.dirs = {tier.path()}});
  const Lookup found = store->find(identity());
  REQUIRE(found);
  CHECK(found.module->key() == key);
  CHECK(store->find(identity()).module == found.module);  // the same mapping
  CHECK(miss_of(*store, identity(1)) == MissReason::kNotEncoded);
  CHECK(n_files(own.path()) == 0);
  const std::vector<TierReport> reports = store->tiers();
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].trouble.empty());
  CHECK(reports[0].n_files == 1);
  CHECK(reports[0].n_found == 1);
  CHECK(reports[0].found_bytes == found.module->bytes().size());
  CHECK_FALSE(reports[0].is_signed);
  CHECK(must(store->verify(put(*store, identity(2))))->key() != key);  // its own go to its own
  CHECK(n_files(tier.path()) == 1);
}

TEST_CASE("nothing is written to a tier, not even a use") {
  const TempFolder own, tier;
  put(*open_store(tier.path()), identity());
  const auto all = [&] {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(tier.path())) {
      const auto at = fs::last_write_time(entry).time_since_epoch().count();
      out.push_back(entry.path().string() + " " + std::to_string(at));
    }
    std::ranges::sort(out);
    return out;
  };
  const auto before = all();
  CHECK(open_behind(own.path(), {.dirs = {tier.path()}})->find(identity()));
  CHECK(all() == before);
}

TEST_CASE("copies go into the own store, or into memory where it takes none") {
  const TempFolder own, tier;
  const ModuleKey key = put(*open_store(tier.path()), identity());
  const auto always = open_behind(own.path(), {.dirs = {tier.path()}, .copy = TierCopy::kAlways});
  CHECK(always->find(identity()));
  CHECK(n_files(own.path()) == 1);
  CHECK(must(open_store(own.path())->verify(key))->key() == key);
  const TempFolder other;
  open_store(other.path());
  const auto reads =
      open_behind(other.path(), {.dirs = {tier.path()}, .copy = TierCopy::kAlways}, true);
  const Lookup found = reads->find(identity());
  REQUIRE(found);
  CHECK(n_files(other.path()) == 0);
  fs::remove_all(tier.path() + "/v3");
  must(found.module->verify_payload());  // of its own, wherever the tier went
}

TEST_CASE("tiers are asked in their order, each for what those before it lack") {
  const TempFolder own, near, far;
  put(*open_store(near.path()), identity());
  put(*open_store(far.path()), identity());
  put(*open_store(far.path()), identity(1));
  const auto store = open_behind(own.path(), {.dirs = {near.path(), far.path()}});
  CHECK(store->find(identity()));
  CHECK(store->find(identity(1)));
  CHECK(store->tiers()[0].n_found == 1);
  CHECK(store->tiers()[1].n_found == 1);
}

TEST_CASE("a store without a directory of its own serves what is behind it") {
  const TempFolder tier, parent;
  put(*open_store(tier.path()), identity());
  parent.write("file", "");
  const auto store = open_behind(parent.path() + "/file/store", {.dirs = {tier.path()}});
  CHECK_FALSE(store->has_dir());
  CHECK_FALSE(store->writable());
  CHECK_THAT(store->why_not_writable(), Catch::Matchers::Contains("file/store"));
  CHECK(store->find(identity()));
  CHECK(store->list().value().empty());
  CHECK_FALSE(store->publish(make_module(identity(1))).ok());
}

TEST_CASE("a tier that is not there is no error, and serves once it is") {
  const TempFolder own, parent;
  const std::string late = parent.path() + "/share";
  const auto store = open_behind(own.path(), {.dirs = {late}});
  CHECK(miss_of(*store, identity()) == MissReason::kNotEncoded);
  CHECK_THAT(store->tiers()[0].trouble, Catch::Matchers::Contains("share"));
}

TEST_CASE("what is published in a tier while it is read is found soon") {
  const TempFolder own, tier;
  const auto theirs = open_store(tier.path());
  const auto store = open_behind(own.path(), {.dirs = {tier.path()}});
  CHECK(miss_of(*store, identity()) == MissReason::kNotEncoded);
  put(*theirs, identity());
  for (int i = 0; i < 200 && !store->find(identity()); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(store->find(identity()));
}

TEST_CASE("a damaged file of a tier is a miss with a remark, and is not read again") {
  const TempFolder own, tier;
  const ModuleKey key = put(*open_store(tier.path()), identity());
  overwrite(object_path(tier.path(), key), stored_size(identity()).bytes - 1, "x");
  std::vector<std::string> remarks;
  for (const TierCopy copy : {TierCopy::kAuto, TierCopy::kAlways, TierCopy::kNever}) {
    const auto store = open_behind(
        own.path(), {.dirs = {tier.path()}, .copy = copy, .remark = [&](const std::string& said) {
                       remarks.push_back(said);
                     }});
    remarks.clear();
    CHECK(miss_of(*store, identity()) == MissReason::kNotEncoded);
    CHECK(miss_of(*store, identity()) == MissReason::kNotEncoded);
    REQUIRE(remarks.size() == 1);
    CHECK_THAT(remarks[0], Catch::Matchers::Contains(tier.path()));
    CHECK(store->tiers()[0].n_failed == 1);
    CHECK_THAT(store->tiers()[0].trouble, Catch::Matchers::Contains("damaged"));
  }
  CHECK(fs::exists(object_path(tier.path(), key)));  // it is not ours to set aside
}

TEST_CASE("what others may write is used under a trusted signature alone, and as a copy") {
  const SigningKeys keys;
  const TempFolder own, tier;
  const ModuleKey key = put(*open_store(tier.path()), identity());
  fs::permissions(tier.path() + "/v3/objects", fs::perms::others_write, fs::perm_options::add);
  const auto ann = must(PublicKey::read(keys.path("ann.pub")));
  const auto bob = must(PublicKey::read(keys.path("bob.pub")));
  const auto trouble_of = [&](std::vector<PublicKey> trusted) {
    const auto store = open_behind(own.path(), {.dirs = {tier.path()}, .trusted = trusted});
    CHECK(miss_of(*store, identity()) == MissReason::kNotEncoded);
    return store->tiers()[0].trouble;
  };
  CHECK_THAT(trouble_of({}), Catch::Matchers::Contains("no key was named"));
  CHECK_THAT(trouble_of({ann}), Catch::Matchers::Contains("manifest"));
  fs::permissions(tier.path() + "/v3/objects", fs::perms::others_write, fs::perm_options::remove);
  must(write_manifest(*open_store(tier.path()), keys.path("ann.key"), ""));
  fs::permissions(tier.path() + "/v3/objects", fs::perms::others_write, fs::perm_options::add);
  CHECK_THAT(trouble_of({bob}), Catch::Matchers::Contains("no signature of a key that is trusted"));

  const auto store = open_behind(own.path(), {.dirs = {tier.path()}, .trusted = {bob, ann}});
  REQUIRE(store->find(identity()));
  CHECK(store->tiers()[0].is_signed);
  CHECK(n_files(own.path()) == 1);  // copied
  // Sound sums do not stand for the signature: another module's bytes under a signed name.
  const TempFolder forged, fresh;
  put(*open_store(forged.path()), identity(1));
  const std::string path = object_path(tier.path(), key);
  fs::remove(path);
  fs::copy_file(object_path(forged.path(), key_of(identity(1))), path);
  const auto cheated = open_behind(fresh.path(), {.dirs = {tier.path()}, .trusted = {ann}});
  CHECK(miss_of(*cheated, identity()) == MissReason::kNotEncoded);
  CHECK(cheated->tiers()[0].n_failed == 1);
}

TEST_CASE("a file that is not in the manifest is not listed where signatures decide") {
  const SigningKeys keys;
  const TempFolder own, tier;
  put(*open_store(tier.path()), identity());
  must(write_manifest(*open_store(tier.path()), keys.path("ann.key"), ""));
  put(*open_store(tier.path()), identity(1));
  fs::permissions(tier.path() + "/v3", fs::perms::others_write, fs::perm_options::add);
  const auto ann = must(PublicKey::read(keys.path("ann.pub")));
  const auto store = open_behind(own.path(), {.dirs = {tier.path()}, .trusted = {ann}});
  CHECK(store->tiers()[0].n_files == 1);
  CHECK(store->find(identity()));
  CHECK(miss_of(*store, identity(1)) == MissReason::kNotEncoded);
}

TEST_CASE("a file of a tier that is mapped is verified once") {
  const TempFolder own, tier;
  const ModuleKey key = put(*open_store(tier.path()), identity());
  std::this_thread::sleep_for(std::chrono::milliseconds(150));  // younger files get no stamp
  CHECK(open_behind(own.path(), {.dirs = {tier.path()}})->find(identity()));
  CHECK(fs::file_size(own.path() + "/v3/used/" + key.hex()) > 0);
}

}  // namespace
}  // namespace pc::test
