// Whatever call about the store's files fails, at whichever time, once or for ever: the request is
// answered as without a store, the store's files are sound, and the next request finds them.

#include "tests/support/store_faults.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <map>
#include <string>

#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"
#include "tests/support/torture_form.h"

namespace pc::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchema =
    "<schema name='s'><module name='a'>The tram is late.</module>"
    "<module name='b'>The museum is open.</module></schema>";
constexpr const char* kPrompt = "<prompt schema='s'><a/><b/>When?</prompt>";
constexpr std::array kErrors{ENOSPC, EDQUOT, EIO, EINTR, EMFILE, ENOMEM, EROFS, EACCES, ENOLCK};

const TinyCheckpoint& checkpoint() {
  static const TinyCheckpoint one(35);
  return one;
}

EngineOptions options(const std::string& cache, CacheMode mode = CacheMode::kReadWrite) {
  EngineOptions o;
  o.model_path = checkpoint().path();
  o.cache_dir = cache;
  o.cache_mode = mode;
  o.kv_type = KvType::kF32;
  o.n_threads = 1;
  return o;
}

// A request in a process of its own, as far as the store can tell.
Tokens answer(const std::string& cache, CacheMode mode, std::uint32_t* n_encoded = nullptr) {
  const auto engine = must(Engine::open(options(cache, mode)));
  const auto schema = must(LoadedSchema::parse(engine, kSchema, ""));
  SessionOptions so;
  so.max_tokens = 4;
  const auto session = must(Session::open(must(LoadedPrompt::parse(schema, kPrompt)), so));
  Tokens tokens;
  while (const auto token = must(session->next())) tokens.push_back(*token);
  if (n_encoded) *n_encoded = session->stats().modules_encoded;
  return tokens;
}

std::unique_ptr<ModuleStore> store_of(const std::string& cache) {
  return ModuleStore::open({.dir = cache, .durability = Durability::kNone}).value();
}

// All that is done with a store: two requests, one of which finds what the other left, and the
// maintenance, which may fail.
void use(const std::string& cache, const Tokens& expected) {
  REQUIRE(answer(cache, CacheMode::kReadWrite) == expected);
  REQUIRE(answer(cache, CacheMode::kReadWrite) == expected);
  const auto store = ModuleStore::open({.dir = cache});
  if (!store.ok()) return;
  const auto entries = (*store)->list();
  if (!entries.ok()) return;
  for (const CacheEntry& entry : *entries) (void)(*store)->verify({entry.key});
  if (!entries->empty()) (void)(*store)->remove({entries->front().key});
  (void)(*store)->gc(0);
  REQUIRE(answer(cache, CacheMode::kReadWrite) == expected);
}

// Of a store that nothing fails for any more.
void check_sound(const std::string& cache, const Tokens& expected) {
  const auto store = store_of(cache);
  for (const CacheEntry& entry : must(store->list())) REQUIRE(store->verify({entry.key}).ok());
  REQUIRE(fs::is_empty(cache + "/v3/quarantine"));
  store->sweep();
  REQUIRE(fs::is_empty(cache + "/v3/tmp"));
  REQUIRE(answer(cache, CacheMode::kReadWrite) == expected);
  std::uint32_t n_encoded = 1;
  REQUIRE(answer(cache, CacheMode::kReadOnly, &n_encoded) == expected);
  REQUIRE(n_encoded == 0);
}

struct Fault {
  int call, errno_value;
  bool for_ever;
};

// The name of the call that failed.
std::string use_with(const Fault& fault, const Tokens& expected) {
  const TempFolder folder;
  const std::string cache = folder.path() + "/cache";
  INFO("call " << fault.call << ", errno " << fault.errno_value
               << ", for ever: " << fault.for_ever);
  watch_folder(folder.path());
  fail_from(fault.call, fault.errno_value, fault.for_ever);
  use(cache, expected);
  const std::string name = failed_call();
  watch_folder("");
  INFO(name);
  check_sound(cache, expected);
  return name;
}

// Full form: every errno at every call; otherwise one of them at each call, in turn.
TEST_CASE("whichever call about the store fails, the answer is right and the store sound") {
  const Tokens expected = answer("", CacheMode::kOff);
  int n_calls = 0;
  {
    const TempFolder folder;
    watch_folder(folder.path());
    use(folder.path() + "/cache", expected);
    n_calls = n_folder_calls();
    watch_folder("");
  }
  REQUIRE(n_calls > 200);
  std::map<std::string, int> struck;
  const bool for_ever = GENERATE(false, true);
  for (int call = 0; call < n_calls; ++call) {
    if (!is_full() && for_ever && call % 3 != 0) continue;
    for (std::size_t i = 0; i < kErrors.size(); ++i)
      if (is_full() || i == static_cast<std::size_t>(call) % kErrors.size())
        ++struck[use_with({call, kErrors[i], for_ever}, expected)];
  }
  struck.erase("");
  std::string names;
  for (const auto& [name, n] : struck) names += " " + name + ":" + std::to_string(n);
  INFO(n_calls << " calls;" << names);
  CHECK(struck.size() >= 12);
  say("E1", std::to_string(n_calls) +
                (is_full() ? " calls, each errno " : " calls, an errno each, ") +
                (for_ever ? "for ever" : "once"));
}

TEST_CASE("a store that cannot be used is a remark, and an error where it is required") {
  const Tokens expected = answer("", CacheMode::kOff);
  const TempFolder folder;
  std::string cache = folder.path() + "/cache";
  REQUIRE(answer(cache, CacheMode::kReadWrite) == expected);
  std::string remark, reason;
  SECTION("it is no folder") {
    cache = checkpoint().path() + "/config.json";
    remark = "modules are not kept on disk: ", reason = "Not a directory";
  }
  SECTION("others may write to it") {
    REQUIRE(::chmod(cache.c_str(), 0777) == 0);
    remark = "modules are not kept on disk: ", reason = "may be written by other users";
  }
  SECTION("others may write to its locks") {
    REQUIRE(::chmod((cache + "/v3/locks").c_str(), 0777) == 0);
    remark = "new modules are not kept on disk: ", reason = "v3/locks may be written";
  }
  EngineOptions o = options(cache);
  const auto engine = must(Engine::open(o));
  CHECK_THAT(engine->remark(), Catch::StartsWith(remark) && Catch::Contains(reason));
  CHECK(answer(cache, CacheMode::kReadWrite) == expected);
  o.require_store = true;
  const auto required = Engine::open(o);
  REQUIRE_FALSE(required.ok());
  CHECK(required.error().code == Code::kIo);
  CHECK_THAT(required.error().message, Catch::Contains(reason));
  o.cache_dir = folder.path() + "/other";
  CHECK(must(Engine::open(o))->remark().empty());
}

TEST_CASE("a module on a part of the disk that cannot be read any more is made again elsewhere") {
  const Tokens expected = answer("", CacheMode::kOff);
  const TempFolder folder;
  const std::string cache = folder.path() + "/cache";
  REQUIRE(answer(cache, CacheMode::kReadWrite) == expected);
  std::string file;
  for (const auto& entry : fs::recursive_directory_iterator(cache + "/v3"))
    if (entry.is_regular_file() && entry.path().extension() == ".module" &&
        (file.empty() || entry.path().string() < file))
      file = entry.path().string();
  INFO(file);
  // Another time of change: what was verified once is read again.
  REQUIRE(::chmod(file.c_str(), 0600) == 0);
  REQUIRE(::chmod(file.c_str(), 0400) == 0);
  spoil_file(file);
  std::uint32_t n_encoded = 0;
  CHECK(answer(cache, CacheMode::kReadWrite, &n_encoded) == expected);
  CHECK(n_encoded == 1);
  CHECK(answer(cache, CacheMode::kReadWrite, &n_encoded) == expected);
  CHECK(n_encoded == 0);
  spoil_file("");
  check_sound(cache, expected);
}

TEST_CASE("calls that move a few bytes at a time give the same answers, and the same files") {
  const Tokens expected = answer("", CacheMode::kOff);
  const TempFolder folder;
  watch_folder(folder.path());
  move_at_most(97);
  use(folder.path() + "/cache", expected);
  watch_folder("");
  check_sound(folder.path() + "/cache", expected);
}

}  // namespace
}  // namespace pc::test
