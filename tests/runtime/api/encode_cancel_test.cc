// pc_schema_encode and pc_prompt_encode are left when their caller wants it: while
// another process encodes the module, and in the middle of an encoding.

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "promptcache/promptcache.h"
#include "runtime/json/json.h"
#include "tests/support/expect.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr const char* kSchema = R"(<schema name="s"><module name="a">The tram is late.</module>
  <module name="b">The museum is open.</module>
  <module name="c">The park is green.</module></schema>)";
constexpr const char* kPrompt = R"(<prompt schema="s"><a/><b/><c/>Where to?</prompt>)";

class Opened {
 public:
  explicit Opened(const char* backend = nullptr) {
    pc_engine_options options;
    pc_engine_options_init(&options);
    options.model_path = checkpoint_.path().c_str();
    options.cache_dir = cache_.path().c_str();
    options.backend = backend;
    options.n_threads = 1;
    REQUIRE(pc_engine_open(&options, &engine_, &error) == PC_OK);
    REQUIRE(pc_schema_parse(engine_, kSchema, PC_NUL_TERMINATED, nullptr, &schema, &error) ==
            PC_OK);
    REQUIRE(pc_prompt_parse(schema, kPrompt, PC_NUL_TERMINATED, &prompt, &error) == PC_OK);
  }
  ~Opened() {
    pc_prompt_close(prompt);
    pc_schema_close(schema);
    pc_engine_close(engine_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  // The keys of the anonymous text, which is no more than BOS, and of a, b and c.
  std::vector<std::string> keys() const {
    char* text = nullptr;
    REQUIRE(pc_schema_describe(schema, &text, nullptr) == PC_OK);
    const JsonDocument report = must(JsonDocument::parse(text, "describe"));
    pc_free(text);
    std::vector<std::string> keys;
    const JsonView modules = report.root().member("modules").value();
    for (std::size_t i = 0; i < modules.size(); ++i) {
      if (const auto key = modules.at(i).member("key")) keys.emplace_back(key->string().value());
    }
    return keys;
  }
  // Holds what a process holds that encodes this module.
  std::string lock_of(const std::string& key) const {
    return cache_.path() + "/v3/locks/" + key.substr(0, 2);
  }

  pc_schema* schema = nullptr;
  pc_prompt* prompt = nullptr;
  pc_error error{};

 private:
  TinyCheckpoint checkpoint_{41};
  TempFolder cache_;
  pc_engine* engine_ = nullptr;
};

// Another process that has a file locked.
class Holder {
 public:
  explicit Holder(const std::string& path) {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    process_ = ::fork();
    if (process_ == 0) {
      const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      if (::flock(file, LOCK_EX | LOCK_NB) != 0 || ::write(ready[1], "!", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char said = 0;
    REQUIRE(::read(ready[0], &said, 1) == 1);
    ::close(ready[0]);
  }
  ~Holder() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

 private:
  pid_t process_ = 0;
};

// What is told, until it has been told `most` times that this module is not done; those in front of
// it take as long as they take.
struct Told {
  std::string awaited;
  int most;
  std::vector<std::string> done;
  std::string waiting_for;
  std::uint32_t n_done = 0;
  int ticks = 0;
  Clock::time_point cancelled_at;

  static int hear(void* user, std::uint32_t n_done, std::uint32_t total, const char* module) {
    auto& told = *static_cast<Told*>(user);
    CHECK(total == 4);
    if (n_done > told.n_done) {
      told.n_done = n_done;
      told.done.emplace_back(module);
      return 0;
    }
    if (module != told.awaited) return 0;
    told.waiting_for = module;
    told.cancelled_at = Clock::now();
    return ++told.ticks >= told.most;
  }
};

// Statistics are of what was done before: so many modules.
template <class Encode>
Told cancel(Encode encode, const Opened& opened, const std::string& awaited, int ticks,
            std::uint32_t n_encoded) {
  Told told{awaited, ticks, {}, "", 0, 0, {}};
  pc_encode_stats stats{};
  stats.struct_size = sizeof stats;
  stats.modules_encoded = 4711;
  pc_error error{};
  const auto begin = Clock::now();
  CHECK(encode(opened, &told, &stats, &error) == PC_CANCELLED);
  CHECK(Clock::now() - told.cancelled_at < 2s);
  CHECK(Clock::now() - begin >= ticks * 40ms);
  CHECK(told.ticks == ticks);
  CHECK(std::string(error.message) == "cancelled");
  CHECK(stats.modules == 4);
  CHECK(stats.modules_encoded == n_encoded);
  CHECK((stats.tokens_computed > 0) == (n_encoded > 0));
  CHECK(stats.microseconds > 0);
  return told;
}

const auto encode_schema = [](const Opened& o, Told* told, pc_encode_stats* stats, pc_error* e) {
  return pc_schema_encode(o.schema, Told::hear, told, stats, e);
};
const auto encode_prompt = [](const Opened& o, Told* told, pc_encode_stats* stats, pc_error* e) {
  return pc_prompt_encode(o.prompt, Told::hear, told, stats, e);
};

TEST_CASE("who waits for another process is asked, and may leave; what was done stays") {
  Opened opened;
  const std::vector<std::string> keys = opened.keys();
  REQUIRE(keys.size() == 4);
  for (const std::size_t before : {0, 1})
    REQUIRE(opened.lock_of(keys[before]) != opened.lock_of(keys[2]));
  {
    const Holder holder(opened.lock_of(keys[2]));
    for (int i = 0; i < 2; ++i) {
      const Told told = i == 0 ? cancel(encode_schema, opened, "b", 6, 2)
                               : cancel(encode_prompt, opened, "b", 6, 0);
      CHECK(told.done == std::vector<std::string>{"", "a"});
      CHECK(told.waiting_for == "b");
    }
  }
  pc_encode_stats stats{};
  stats.struct_size = sizeof stats;
  Told told{"b", 1000, {}, "", 0, 0, {}};
  REQUIRE(pc_schema_encode(opened.schema, Told::hear, &told, &stats, &opened.error) == PC_OK);
  CHECK(told.done == std::vector<std::string>{"", "a", "b", "c"});
  CHECK(stats.modules_encoded == 2);
}

TEST_CASE("modules together are a job of their own, and none where a prompt has one or none") {
  Opened opened;
  pc_encode_stats stats{};
  stats.struct_size = sizeof stats;
  std::vector<std::string> done;
  const auto hear = [](void* user, std::uint32_t n_done, std::uint32_t total, const char* module) {
    CHECK(total == 2);
    auto& names = *static_cast<std::vector<std::string>*>(user);
    if (n_done > names.size()) names.emplace_back(module);
    return 0;
  };
  REQUIRE(pc_prompt_encode_together(opened.prompt, hear, &done, &stats, &opened.error) == PC_OK);
  CHECK(done == std::vector<std::string>{"the prompt's modules together", ""});
  CHECK(stats.modules == 2);
  CHECK(stats.modules_encoded == 2);
  CHECK(stats.bytes_stored > 0);
  pc_prompt* alone = nullptr;
  const std::string text = "<prompt schema='s'><a/>Why?</prompt>";
  REQUIRE(pc_prompt_parse(opened.schema, text.data(), text.size(), &alone, &opened.error) == PC_OK);
  REQUIRE(pc_prompt_encode_together(alone, nullptr, nullptr, &stats, &opened.error) == PC_OK);
  CHECK(stats.modules == 0);
  pc_prompt_close(alone);
}

TEST_CASE("an encoding is left in its middle") {
  const Opened opened(PC_FAKE_BACKEND_ENDLESS);
  for (int i = 0; i < 2; ++i) {
    const Told told =
        i == 0 ? cancel(encode_schema, opened, "", 3, 0) : cancel(encode_prompt, opened, "", 3, 0);
    CHECK(told.done.empty());
    CHECK(told.waiting_for.empty());
  }
}

}  // namespace
}  // namespace pc::test
