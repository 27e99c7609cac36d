// A tier whose file system fails or hangs at any call, or goes away: the store in front answers,
// in time, with the module or without it.
#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <thread>

#include "modules/store_pull.h"
#include "tests/modules/store_support.h"
#include "tests/support/expect.h"
#include "tests/support/signing_keys.h"
#include "tests/support/store_faults.h"

namespace pc::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Ends all faults, however a test ends.
struct Watched {
  explicit Watched(const std::string& dir) { watch_folder(dir); }
  ~Watched() {
    watch_folder("");
    pretend(false, false);
  }
};

std::unique_ptr<ModuleStore> open_behind(const std::string& dir, const std::string& tier,
                                         std::vector<PublicKey> trusted = {}) {
  return must(ModuleStore::open({.dir = dir,
                                 .durability = Durability::kNone,
                                 .tiers = {.dirs = {tier}, .trusted = std::move(trusted)}}));
}

TEST_CASE("a tier on a file system that may hang is copied; mapped files lie on local ones") {
  const TempFolder own, tier;
  put(*open_store(tier.path()), identity());
  const Watched watched(tier.path());
  pretend(true, false);
  const auto store = open_behind(own.path(), tier.path());
  REQUIRE(store->find(identity()));
  CHECK(open_store(own.path())->list().value().size() == 1);
}

TEST_CASE("another user's tier is used by its signatures") {
  const SigningKeys keys;
  const TempFolder own, tier;
  const auto theirs = open_store(tier.path());
  put(*theirs, identity());
  must(write_manifest(*theirs, keys.path("ann.key"), ""));
  const Watched watched(tier.path());
  pretend(false, true);
  CHECK_THAT(open_behind(own.path(), tier.path())->tiers()[0].trouble,
             Catch::Matchers::Contains("belongs to another user"));
  const auto ann = must(PublicKey::read(keys.path("ann.pub")));
  CHECK(open_behind(own.path(), tier.path(), {ann})->find(identity()));
}

TEST_CASE("whichever call on a tier fails, once or from then on, a request has an answer") {
  const bool is_remote = GENERATE(false, true);
  const bool for_ever = GENERATE(false, true);
  const TempFolder tier;
  const ModuleKey key = put(*open_store(tier.path()), identity());
  for (int call = 0;; ++call) {
    const TempFolder own;
    const Watched watched(tier.path());
    pretend(is_remote, false);
    fail_from(call, EIO, for_ever);
    const auto store = open_behind(own.path(), tier.path());
    const Lookup found = store->find(identity());
    const bool was_reached = !failed_call().empty();
    INFO("call " << call << ", " << failed_call());
    if (found)
      must(found.module->verify_payload());
    else
      CHECK(found.miss == MissReason::kNotEncoded);
    if (!found) CHECK((!store->tiers()[0].trouble.empty() || store->tiers()[0].n_failed > 0));
    watch_folder("");
    CHECK(fs::exists(object_path(tier.path(), key)));
    if (!was_reached) {
      CHECK(found);
      CHECK(call > 10);
      break;
    }
  }
}

TEST_CASE("whichever call on a tier hangs, requests wait a moment once, and go on without it") {
  // Calls up to the list are made at the open; of those behind it each third hangs here.
  const TempFolder tier;
  put(*open_store(tier.path()), identity());
  int n_calls = 0;
  {
    const TempFolder own;
    const Watched watched(tier.path());
    pretend(true, false);
    CHECK(open_behind(own.path(), tier.path())->find(identity()));
    n_calls = n_folder_calls();
  }
  for (int call = 0; call < n_calls; call += 3) {
    INFO("call " << call << " of " << n_calls);
    const TempFolder own;
    const Watched watched(tier.path());
    pretend(true, false);
    hang_from(call);
    const auto begin = Clock::now();
    const auto store = open_behind(own.path(), tier.path());
    CHECK(miss_of(*store, identity()) == MissReason::kNotEncoded);
    CHECK(Clock::now() - begin < 3 * Courier::kPatience);
    CHECK_THAT(store->tiers()[0].trouble, Catch::Matchers::Contains("does not answer"));
    const auto again = Clock::now();
    for (int i = 0; i < 100; ++i) CHECK(miss_of(*store, identity()) == MissReason::kNotEncoded);
    CHECK(Clock::now() - again < Courier::kPatience);
    hang_from(-1);  // it is back
    for (int i = 0; i < 400 && !store->find(identity()); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK(store->find(identity()));
  }
}

TEST_CASE("a tier that goes away under a mapping, or is unmounted, costs what it had") {
  const TempFolder own, tier;
  const ModuleKey key = put(*open_store(tier.path()), identity());
  const auto store = open_behind(own.path(), tier.path());
  const Lookup before = store->find(identity());
  REQUIRE(before);
  fs::remove_all(tier.path() + "/v3");
  must(before.module->verify_payload());  // who has it keeps it
  const Lookup after = store->find(identity());
  if (after) CHECK(after.module->key() == key);
}

TEST_CASE("a store that is closed while its tier hangs does not wait for it") {
  const TempFolder own, tier;
  put(*open_store(tier.path()), identity());
  const Watched watched(tier.path());
  pretend(true, false);
  auto store = open_behind(own.path(), tier.path());
  hang_from(n_folder_calls());
  CHECK(miss_of(*store, identity()) == MissReason::kNotEncoded);
  const auto begin = Clock::now();
  store.reset();
  CHECK(Clock::now() - begin < Courier::kPatience);
}

}  // namespace
}  // namespace pc::test
