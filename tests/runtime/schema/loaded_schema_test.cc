// How a schema's modules are come by where other processes want them too.

#include "runtime/schema/loaded_schema.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <thread>

#include "tests/support/cpu_seconds.h"
#include "tests/support/flock_faults.h"
#include "tests/support/memory_map.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

constexpr const char* kSchema = R"(<schema name="s"><module name="a">The tram is late.</module>
  <module name="b">The museum is open.</module></schema>)";

class Cached {
 public:
  std::shared_ptr<LoadedSchema> schema() const {
    EngineOptions o;
    o.model_path = checkpoint_.path();
    o.cache_dir = cache_.path();
    o.n_threads = 1;
    return LoadedSchema::parse(Engine::open(o).value(), kSchema, "").value();
  }
  std::string locks() const { return cache_.path() + "/v3/locks"; }
  void touch_model() const {
    const std::string path = checkpoint_.path() + "/model.safetensors";
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0);
  }

 private:
  TinyCheckpoint checkpoint_{21};
  TempFolder cache_;
};

const LoadedSchema::Progress kGoOn = [](auto, auto&, auto&) { return true; };

TEST_CASE("where files cannot be locked, every module is encoded at once, and stored") {
  const Cached cached;
  const auto schema = cached.schema();
  for (const int failure : {ENOLCK, ENOSYS}) {
    CAPTURE(failure);
    fail_flock(failure);
    const int before = flock_attempts();
    const auto again = cached.schema();
    REQUIRE(again->encode(again->modules(), kGoOn).ok());
    fail_flock(0);
    // One for each lock that is wanted: the modules' own, those of making room and of the promises.
    REQUIRE(flock_attempts() - before <= 12);
    for (const auto& module : again->modules()) {
      REQUIRE(again->engine().store()->find(module->identity));
      REQUIRE(again->engine().store()->remove(key_of(module->identity)).ok());
    }
  }
}

// The reason for which publishing fails here stands for all: what the system could not write may be
// lost, so nothing of the file's mapping may be used.
TEST_CASE("a module whose file cannot be published is used from memory") {
  const Cached cached;
  const auto sound = cached.schema();
  const auto expected = [&] {
    Encoder encoder(sound->engine().scheduler(), nullptr);
    const SchemaModule& first = *sound->modules()[0];
    return encoder.encode(first.job, first.identity, nullptr).value().module;
  }();
  const auto schema = cached.schema();
  cached.touch_model();
  Encoder encoder(schema->engine().scheduler(), schema->engine().store());
  const auto acquired = schema->acquire(*schema->modules()[0], encoder, nullptr).value();
  CHECK(acquired.source == ModuleSource::kEncoded);
  CHECK_FALSE(acquired.stored);
  CHECK_FALSE(schema->publish_remark().empty());
  CHECK(std::ranges::equal(acquired.module->bytes(), expected->bytes()));
  CHECK(mapping_of(acquired.module->bytes().data()).file == "");
  CHECK(schema->engine().store()->list().value().empty());
}

TEST_CASE("lock files that cannot be opened keep no module from being encoded") {
  const Cached cached;
  const auto schema = cached.schema();
  for (int i = 0; i < 256; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    const std::string name{kDigits[i / 16], kDigits[i % 16]};
    REQUIRE(::mkdir((cached.locks() + "/" + name).c_str(), 0700) == 0);
  }
  const double before = cpu_seconds();
  REQUIRE(schema->encode(schema->modules(), kGoOn).ok());
  REQUIRE(cpu_seconds() - before < 60);  // two minutes of each module's, where it spins
}

TEST_CASE("who waits for another's encoding sleeps, can be cancelled, and finds what came of it") {
  const Cached cached;
  const auto schema = cached.schema();
  const auto other = cached.schema();
  ModuleStore& store = *schema->engine().store();
  std::optional<FileLock> theirs = store.lock(key_of(schema->modules()[0]->identity), {});
  REQUIRE(theirs->held());

  std::int32_t cancel = 0;
  std::atomic<bool> over{false};
  double spent = 0;
  Result<AcquiredModule> waited = error(Code::kInternal, "");
  Encoder encoder(schema->engine().scheduler(), nullptr);
  const auto acquire = [&] {
    const double before = cpu_seconds();
    waited = schema->acquire(*schema->modules()[0], encoder, &cancel);
    spent = cpu_seconds() - before;
    over = true;
  };
  const auto lie_about = [] { std::this_thread::sleep_for(std::chrono::milliseconds(400)); };

  std::thread cancelled(acquire);
  lie_about();
  CHECK_FALSE(over);
  __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED);
  cancelled.join();
  REQUIRE_FALSE(waited.ok());
  CHECK(waited.error().code == Code::kCancelled);
  CHECK(spent < 0.2);

  cancel = 0;
  over = false;
  std::thread patient(acquire);
  lie_about();
  CHECK_FALSE(over);
  Encoder first(other->engine().scheduler(), &store);
  const auto module =
      first.encode(other->modules()[0]->job, other->modules()[0]->identity, nullptr);
  REQUIRE(store.publish(module->module, module->draft.get()).ok());
  theirs.reset();
  patient.join();
  REQUIRE(waited.ok());
  CHECK(waited->source == ModuleSource::kStore);
}

}  // namespace
}  // namespace pc::test
