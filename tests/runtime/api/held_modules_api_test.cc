// Modules that an app reads ahead, pins and lets go of, and what the log says of them.

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
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

TEST_CASE("what a prompt may choose of a union in another's place is read ahead, too") {
  const Opened opened;
  const api::Schema schema = api::Schema::parse(*opened.engine, R"(<schema name="u">Of a town.
    <union><module name="oslo">Oslo has trams.</module><module name="rome">Rome has buses.</module>
    <module name="bonn">Bonn has ferries.</module></union>
    <module name="other">Nobody asks for this.</module></schema>)");
  const auto prompt = [&](const std::string& pml) {
    return api::Prompt(schema, "<prompt schema=\"u\">" + pml + "Why?</prompt>");
  };
  schema.encode();
  opened.engine->trim();
  REQUIRE(Opened::n_mapped() == 0);
  prompt("<other/>").prefetch();
  CHECK(Opened::n_mapped() == 2);  // the schema's own text is one
  opened.engine->trim();
  prompt("<rome/>").prefetch();
  CHECK(Opened::n_mapped() == 4);
}

TEST_CASE("a module whose states lie in several runs is read ahead and pinned as a whole") {
  const Opened opened;
  const api::Schema schema = api::Schema::parse(*opened.engine, R"(<schema name="r">
    <module name="trip">A trip of <param name="days" len="6"/> to Oslo, for
      <param name="who" len="6"/> with a guide.</module></schema>)");
  const api::Prompt prompt(schema,
                           R"(<prompt schema="r"><trip days="3 days" who="one"/>Go.</prompt>)");
  prompt.encode();
  const int n_files = Opened::n_mapped();  // of the module, and of what stands before all
  CHECK(n_files == 2);
  opened.engine->trim();
  REQUIRE(Opened::n_mapped() == 0);
  prompt.prefetch();
  CHECK(Opened::n_mapped() == n_files);
  const api::Pin pin = prompt.pin();
  opened.engine->trim();
  CHECK(Opened::n_mapped() == n_files);
  CHECK(prompt.counts().modules_missing == 0);
}

TEST_CASE("a pin of a file outlives who made it, and is for every process") {
  const Opened opened;
  opened.schema->encode();
  opened.engine->trim();
  const std::string objects = opened.cache.path() + "/v3/objects";
  const std::string key = std::filesystem::directory_iterator(objects)->path().stem().string();
  api::Store(opened.cache.path()).pin(key.substr(0, 12));
  api::Store store(opened.cache.path());
  CHECK(store.gc(0).find("\"pinned_files\":1") != std::string::npos);
  CHECK(opened.stored() == 1);
  CHECK(store.describe().find("\"pinned\":true") != std::string::npos);
  CHECK_THROWS_WITH(store.remove(key), Catch::Contains("unpin it first"));
  store.unpin(key);
  CHECK_THROWS_WITH(store.unpin(key), Catch::Contains("is not pinned"));
  store.pin(key);
  CHECK(store.remove_all() > 0);
  CHECK_THROWS_WITH(store.pin(key), Catch::Contains("no file"));
  CHECK(opened.stored() == 0);
}

TEST_CASE("all modules go to another store in one file") {
  const Opened opened;
  opened.schema->encode();
  const TempFolder out;
  const std::string file = out.path() + "/all.modules";
  api::Store(opened.cache.path()).export_modules({}, file);
  std::filesystem::create_directory(out.path() + "/store");
  api::Store other(out.path() + "/store");
  const std::string keys = other.import_modules(file);
  CHECK(std::ranges::count(keys, '\n') == 3);  // the anonymous text, a and b
  CHECK(other.verify_all().find("\"bad\":0") != std::string::npos);
  CHECK_THROWS_WITH(other.export_modules({}, file), Catch::Contains("File exists"));
}

TEST_CASE("an engine counts how it came by modules, and why it encoded them") {
  const Opened opened;
  const auto counts = [&] { return opened.engine->cache_counts(); };
  CHECK((counts().held == 0 && counts().found == 0 && counts().not_encoded == 0));
  opened.prompt->encode();
  CHECK((counts().not_encoded == 3 && counts().stored == 3 && counts().not_stored == 0));
  opened.prompt->encode();
  CHECK((counts().held == 3 && counts().found == 0));
  opened.engine->trim();
  opened.prompt->encode();
  CHECK((counts().held == 3 && counts().found == 3 && counts().mapped_bytes > 0));
  // One of them is damaged, and another gone.
  opened.engine->trim();
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(opened.cache.path() + "/v3/objects"))
    files.push_back(entry.path().string());
  REQUIRE(files.size() >= 3);
  std::filesystem::permissions(files[0], std::filesystem::perms::owner_all);
  std::filesystem::resize_file(files[0], 100);
  std::filesystem::permissions(files[0], std::filesystem::perms::owner_read);
  std::filesystem::remove(files[1]);
  opened.schema->encode();
  CHECK((counts().corrupt == 1 && counts().set_aside_files == 1));
  CHECK(counts().not_encoded >= 4);
  CHECK((counts().evicted_files == 0 && counts().lost_mappings == 0));
  pc_cache_counts part{};
  part.struct_size = offsetof(pc_cache_counts, corrupt);
  REQUIRE(pc_engine_get_cache_counts(opened.engine->get(), &part, nullptr) == PC_OK);
  CHECK((part.held == counts().held && part.corrupt == 0));
}

TEST_CASE("an import evicts nothing, however much there is") {
  const Opened opened;
  opened.schema->encode();
  const std::string objects = opened.cache.path() + "/v3/objects";
  const std::string key = std::filesystem::directory_iterator(objects)->path().stem().string();
  const TempFolder out;
  api::Store store(opened.cache.path());
  store.export_modules({key}, out.path() + "/one.module");
  opened.engine->trim();
  store.remove(key);
  // As an engine with a budget of 20 GiB leaves them; without a byte on the disk.
  const std::string large = objects + "/" + std::string(64, 'a') + ".module";
  std::ofstream(large, std::ios::binary).close();
  std::filesystem::resize_file(large, 9ull << 30);
  std::filesystem::permissions(large, std::filesystem::perms::owner_read);
  CHECK(store.import_modules(out.path() + "/one.module") == key + "\n");
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
  const std::string objects = opened.cache.path() + "/v3/objects";
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

// How many are in the sink at once, and how many came from elsewhere than the thread that waits.
struct Crowded {
  std::atomic<int> n_inside{0}, n_most{0}, n_messages{0}, n_foreign{0};
  const std::thread::id owner = std::this_thread::get_id();
};

TEST_CASE("messages of many threads come one at a time, each on its own thread") {
  const Opened opened;
  Crowded crowded;
  pc_set_log(
      [](void* user, std::int32_t, const char*) {
        auto& c = *static_cast<Crowded*>(user);
        const int inside = ++c.n_inside;
        if (inside > c.n_most) c.n_most = inside;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        ++c.n_messages;
        c.n_foreign += std::this_thread::get_id() != c.owner;
        --c.n_inside;
      },
      &crowded, PC_LOG_INFO);
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&opened, i] {
      const std::string name = std::to_string(i);
      const std::string text = "<schema name='n" + name + "'><module name='m'>Tram " + name +
                               " is late.</module></schema>";
      api::Schema::parse(*opened.engine, text.c_str()).encode();
    });
  }
  for (std::thread& thread : threads) thread.join();
  pc_set_log(nullptr, nullptr, PC_LOG_INFO);
  CHECK(crowded.n_messages >= kThreads);  // a module each
  CHECK(crowded.n_most == 1);
  CHECK(crowded.n_foreign == crowded.n_messages);
}

}  // namespace
}  // namespace pc::test
