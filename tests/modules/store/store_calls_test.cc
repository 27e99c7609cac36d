// E5: whichever call of the system fails in an operation of the store, once or for ever: the
// operation says so or was done, gives nothing but right modules, and leaves a store that is sound
// and in which everything can be done. (The same through an engine:
// tests/runtime/schema/store_faults_test.)
//
// Caught, when it was put into the product: a pin that is said to stand although its file could not
// be made, an export that passes over a write that failed, and a collection that takes pinned
// files.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "modules/module_transfer.h"
#include "tests/support/store_faults.h"
#include "tests/torture/torture.h"

namespace pc::test {
namespace {

namespace fs = std::filesystem;

constexpr std::array kErrors{ENOSPC, EDQUOT, EIO, EINTR, EMFILE, ENOMEM, EROFS, EACCES, ENOLCK};
constexpr int kModules = 3;  // of which the store has all but the last

const Oracle& oracle() {
  static const Oracle one(kModules);
  return one;
}

ModuleKey key(int i) {
  return oracle().module(i)->key();
}

// A store with modules 0 and 1, module 0 pinned; beside it a file of both, and one of module 2.
class Place {
 public:
  Place() : folder_(quick_place()) {
    const auto store = open_store(cache());
    for (int i = 0; i < kModules; ++i) REQUIRE(store->publish(oracle().module(i)).ok());
    REQUIRE(export_modules(*store, std::array{key(0), key(1)}, file("both")).ok());
    REQUIRE(export_modules(*store, std::array{key(2)}, file("third")).ok());
    REQUIRE(store->remove(key(2)).ok());
    REQUIRE(store->pin(key(0)).ok());
  }
  std::string cache() const { return folder_.path() + "/cache"; }
  std::string file(const std::string& name) const { return folder_.path() + "/" + name; }
  const std::string& path() const { return folder_.path(); }

  // As a process that starts now has it; null where even that fails.
  std::unique_ptr<ModuleStore> open() const {
    auto store = ModuleStore::open({.dir = cache(), .budget_bytes = 1 << 30});
    if (!store.ok()) REQUIRE_FALSE(store.error().message.empty());
    return store.ok() ? std::move(store).value() : nullptr;
  }

 private:
  TempFolder folder_;
};

template <class T>
bool said(const Result<T>& result) {
  if (!result.ok()) REQUIRE_FALSE(result.error().message.empty());
  return result.ok();
}

void find(ModuleStore& store, int i) {
  const Lookup found = store.find(oracle().identity(i));
  if (found) REQUIRE(oracle().is_right(i, found.module->bytes()));
  if (!found) REQUIRE_FALSE(found.why.empty());
}

void publish(ModuleStore& store, int i, CacheDraft* draft = nullptr) {
  const auto published = store.publish(oracle().module(i), draft);
  if (said(published)) REQUIRE(oracle().is_right(i, (*published)->bytes()));
}

void publish_draft(ModuleStore& store) {
  const auto draft = store.draft(oracle().module(2)->bytes().size());
  if (!draft) return;
  const auto published = store.publish(make_module(oracle().identity(2), draft), draft.get());
  if (said(published)) REQUIRE(oracle().is_right(2, (*published)->bytes()));
}

// Where a file cannot be had without a name.
void publish_named(const Place& place) {
  auto folder = CacheFolder::open(place.cache(), kModuleTenant, CacheAccess::kMakeAll);
  if (said(folder))
    said(folder->publish(key(2).digest, oracle().module(2)->bytes(), Durability::kData,
                         Staging::kNamed));
}

// What must be true afterwards, when nothing fails any more; empty: nothing of its own.
using After = std::function<void()>;

After export_to(const Place& place, const ModuleStore& store, std::vector<ModuleKey> keys) {
  const std::string file = place.file("out");
  if (!said(export_modules(store, keys, file))) return {};
  return [&place, file] {  // what is said to be whole can be read
    REQUIRE(import_modules(*open_store(place.path() + "/other"), file).ok());
  };
}

After pin(const Place& place, ModuleStore& store) {
  if (!said(store.pin(key(1)))) return {};
  return [&place] { REQUIRE(open_store(place.cache())->is_pinned(key(1))); };
}

After unpin(const Place& place, ModuleStore& store) {
  const bool unpinned = said(store.unpin(key(0)));
  return [&place, unpinned] { REQUIRE(open_store(place.cache())->is_pinned(key(0)) != unpinned); };
}

void import(const Place& place, ModuleStore& store, const std::string& name, std::size_t n) {
  const auto keys = import_modules(store, place.file(name));
  if (said(keys)) REQUIRE(keys->size() == n);
}

struct Deed {
  const char* name;
  std::function<After(const Place&, ModuleStore&)> work;
};

// A deed of which nothing is to be said afterwards.
template <class F>
std::function<After(const Place&, ModuleStore&)> plain(F f) {
  return [f](const Place& place, ModuleStore& store) -> After {
    f(place, store);
    return {};
  };
}

const std::vector<Deed>& deeds() {
  using P = const Place;
  using S = ModuleStore;
  static const std::vector<Deed> all = {
      {"open", plain([](P&, S&) {})},
      {"find", plain([](P&, S& s) { find(s, 0), find(s, 0), find(s, 2); })},
      {"publish", plain([](P&, S& s) { publish(s, 2); })},
      {"publish what is there", plain([](P&, S& s) { publish(s, 1); })},
      {"publish a draft", plain([](P&, S& s) { publish_draft(s); })},
      {"publish by name", plain([](P& p, S&) { publish_named(p); })},
      {"list", plain([](P&, S& s) {
         const auto entries = s.list();
         if (said(entries)) REQUIRE(entries->size() <= 2);
       })},
      {"inspect", plain([](P&, S& s) { said(s.inspect(key(0))), said(s.inspect(key(2))); })},
      {"verify", plain([](P&, S& s) { said(s.verify(key(1))); })},
      {"pin", pin},
      {"unpin", unpin},
      {"remove", plain([](P&, S& s) { said(s.remove(key(1))); })},
      {"collect all", plain([](P&, S& s) { said(s.gc(0)); })},
      {"sweep", plain([](P&, S& s) { s.sweep(); })},
      {"export one", [](P& p, S& s) { return export_to(p, s, {key(0)}); }},
      {"export two",
       [](P& p, S& s) {
         return export_to(p, s, {key(0), key(1)});
       }},
      {"import one", plain([](P& p, S& s) { import(p, s, "third", 1); })},
      {"import two", plain([](P& p, S& s) { import(p, s, "both", 2); })},
  };
  return all;
}

// Nothing fails any more.
void check_sound(const Place& place) {
  const auto store = open_store(place.cache());
  for (const CacheEntry& entry : store->list().value()) REQUIRE(store->verify({entry.key}).ok());
  if (store->is_pinned(key(0))) REQUIRE(store->find(oracle().identity(0)));  // never evicted
  REQUIRE(fs::is_empty(place.cache() + "/v3/quarantine"));  // no sound file was taken for damage
  store->sweep();
  REQUIRE(fs::is_empty(place.cache() + "/v3/tmp"));
  for (int i = 0; i < kModules; ++i) {
    REQUIRE(store->publish(oracle().module(i)).ok());
    const Lookup found = store->find(oracle().identity(i));
    REQUIRE(found);
    REQUIRE(oracle().is_right(i, found.module->bytes()));
  }
}

// False: the deed makes fewer calls than that.
bool do_with(const Deed& deed, int call, int errno_value, bool for_ever) {
  const Place place;
  INFO(deed.name << ", call " << call << ", errno " << errno_value << ", for ever " << for_ever);
  watch_folder(place.path());
  fail_from(call, errno_value, for_ever);
  After after;
  if (const auto store = place.open()) after = deed.work(place, *store);
  const std::string failed = failed_call();
  watch_folder("");
  INFO(failed);
  if (after) after();
  check_sound(place);
  return !failed.empty();
}

// Full form: every errno at every call, in both ways; otherwise one of them at each, in one of the
// ways, in turn, and fewer calls where sums take long.
#ifdef NDEBUG
constexpr int kQuickStride = 1;
#else
constexpr int kQuickStride = 5;
#endif

// Of one deed; gives how often a call failed.
int sweep(const Deed& deed, bool for_ever) {
  int n_struck = 0;
  for (int call = 0;; call += is_full() ? 1 : kQuickStride) {
    for (std::size_t i = 0; i < kErrors.size(); ++i) {
      if (!is_full() && i != static_cast<std::size_t>(call) % kErrors.size()) continue;
      if (!do_with(deed, call, kErrors[i], is_full() ? for_ever : call % 2 == 1)) return n_struck;
      ++n_struck;
    }
  }
}

TEST_CASE("whichever call fails in an operation of the store, it says so or was done") {
  int n_struck = 0;
  for (const Deed& deed : deeds()) {
    n_struck += sweep(deed, false);
    if (is_full()) n_struck += sweep(deed, true);
  }
  say("E5", std::to_string(n_struck) + " times a call of one of " + std::to_string(deeds().size()) +
                " operations of a store");
  CHECK(n_struck > 1000 / kQuickStride);
}

}  // namespace
}  // namespace pc::test
