// Modules that an app reads ahead, pins and lets go of, and what the log says of them.

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "promptcache/promptcache.hpp"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

namespace api = promptcache;

constexpr const char* kSchema = R"(<schema name="s">Be short.
  <module name="a">The tram costs three euros.</module>
  <module name="b">The museum opens at nine.</module></schema>)";
constexpr const char* kPrompt = R"(<prompt schema="s"><a/><b/>What is free?</prompt>)";

class Opened {
 public:
  explicit Opened(std::uint64_t cache_bytes = 0) {
    api::EngineOptions o;
    o.model_path = checkpoint_.path().c_str();
    o.cache_dir = cache.path().c_str();
    o.n_threads = 1;
    o.cache_bytes = cache_bytes;
    engine.emplace(o);
    schema.emplace(api::Schema::parse(*engine, kSchema));
    prompt.emplace(*schema, kPrompt);
  }
  // Files of the store that this process has mapped.
  static int n_mapped() {
    std::ifstream maps("/proc/self/maps");
    int n = 0;
    for (std::string line; std::getline(maps, line);)
      n += line.find(".module") != std::string::npos && line.find("r--s") != std::string::npos;
    return n;
  }
  std::uint64_t stored() const {
    return api::Store(cache.path()).describe().find("\"key\"") == std::string::npos ? 0 : 1;
  }

  TempFolder cache;
  std::optional<api::Engine> engine;
  std::optional<api::Schema> schema;
  std::optional<api::Prompt> prompt;

 private:
  TinyCheckpoint checkpoint_{33};
};

TEST_CASE("a pin holds modules against trim and eviction, until it is closed") {
  const Opened opened;
  CHECK(opened.engine->trim() == 0);
  {
    const api::Pin pin = opened.prompt->pin();
    CHECK(opened.prompt->counts().modules_missing == 0);
    CHECK(opened.engine->trim() == 0);  // all are pinned
    CHECK(Opened::n_mapped() == 3);     // the anonymous text, a and b
    api::Store store(opened.cache.path());
    store.gc(0);
    CHECK(opened.stored() == 1);
  }
  opened.engine->trim();
  CHECK(Opened::n_mapped() == 0);
  api::Store store(opened.cache.path());
  store.gc(0);
  CHECK(opened.stored() == 0);
}

TEST_CASE("a schema is pinned as it stands, with progress that may leave") {
  const Opened opened;
  int n_told = 0;
  const auto leave = [&](std::uint32_t, std::uint32_t total, const char*) {
    CHECK(total == 3);
    return ++n_told < 2;
  };
  CHECK_THROWS_AS(opened.schema->pin(leave), api::Error);
  CHECK(n_told == 2);
  const api::Pin pin = opened.schema->pin();
  CHECK(Opened::n_mapped() == 3);
}

TEST_CASE("reading ahead maps what is there, and encodes nothing") {
  const Opened opened;
  opened.prompt->prefetch();
  CHECK(Opened::n_mapped() == 0);
  CHECK(opened.prompt->counts().modules_missing == 3);
  opened.prompt->encode();
  CHECK(opened.engine->trim() > 0);
  REQUIRE(Opened::n_mapped() == 0);
  opened.prompt->prefetch();
  CHECK(Opened::n_mapped() == 3);
}

TEST_CASE("an import evicts nothing, however much there is") {
  const Opened opened;
  opened.schema->encode();
  const std::string objects = opened.cache.path() + "/v2/objects";
  const std::string key = std::filesystem::directory_iterator(objects)->path().stem().string();
  const TempFolder out;
  api::Store store(opened.cache.path());
  store.export_module(key, out.path() + "/one.module");
  opened.engine->trim();
  store.remove(key);
  // As an engine with a budget of 20 GiB leaves them; without a byte on the disk.
  const std::string large = objects + "/" + std::string(64, 'a') + ".module";
  std::ofstream(large, std::ios::binary).close();
  std::filesystem::resize_file(large, 9ull << 30);
  std::filesystem::permissions(large, std::filesystem::perms::owner_read);
  CHECK(store.import_module(out.path() + "/one.module") == key);
  CHECK(std::filesystem::exists(large));
}

struct Log {
  std::vector<std::pair<int, std::string>> lines;
  bool has(int level, const std::string& part) const {
    for (const auto& [l, line] : lines)
      if (l == level && line.find(part) != std::string::npos) return true;
    return false;
  }
};

void collect(void* user, std::int32_t level, const char* message) {
  static_cast<Log*>(user)->lines.emplace_back(level, message);
}

TEST_CASE("a log has what nobody asked about, and nothing once it is taken away") {
  Log log;
  pc_set_log(collect, &log, PC_LOG_INFO);
  const Opened opened;
  CHECK(log.has(PC_LOG_INFO, "opened "));
  opened.prompt->encode();
  CHECK(log.has(PC_LOG_INFO, "encoded module \"a\" of schema \"s\""));
  CHECK_FALSE(log.has(PC_LOG_WARNING, ""));

  // A file that is damaged while nobody has it mapped.
  opened.engine->trim();
  const std::string objects = opened.cache.path() + "/v2/objects";
  for (const auto& file : std::filesystem::directory_iterator(objects)) {
    std::filesystem::permissions(file.path(), std::filesystem::perms::owner_all);
    std::filesystem::resize_file(file.path(), 100);
  }
  log.lines.clear();
  pc_set_log(collect, &log, PC_LOG_WARNING);
  opened.prompt->encode();
  CHECK(log.has(PC_LOG_WARNING, "is not used from the store"));
  CHECK_FALSE(log.has(PC_LOG_INFO, ""));

  log.lines.clear();
  pc_set_log(nullptr, nullptr, PC_LOG_INFO);
  api::Store(opened.cache.path()).remove_all();
  opened.engine->trim();
  opened.prompt->encode();
  CHECK(log.lines.empty());
}

}  // namespace
}  // namespace pc::test
