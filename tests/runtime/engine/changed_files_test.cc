// Files that somebody else changes or cuts short while they are in use: the request says so or is
// answered from a module made again, and the process lives.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/mapped_file.h"
#include "runtime/session/session.h"
#include "simd/kernels.h"
#include "tests/runtime/engine/apartment.h"
#include "tests/support/expect.h"
#include "tests/support/fixture.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace pc::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kSchema =
    "<schema name='s'><module name='a'>The tram to the harbour is late again today.</module>"
    "<module name='b'>The museum is open until six.</module></schema>";
constexpr const char* kPrompt = "<prompt schema='s'><a/><b/>When?</prompt>";
constexpr std::uint32_t kTokens = 12;

void overwrite_payload(const std::string& path) {
  std::this_thread::sleep_for(20ms);  // a tick of the clock of files
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  const auto size = static_cast<off_t>(std::filesystem::file_size(path));
  const std::string noise(static_cast<std::size_t>(size / 4), '\x41');
  REQUIRE(::pwrite(fd, noise.data(), noise.size(), size - size / 4) ==
          static_cast<ssize_t>(noise.size()));
  ::close(fd);
}

void cut(const std::string& path, off_t n_bytes) {
  const bool done = ::chmod(path.c_str(), 0600) == 0 && ::truncate(path.c_str(), n_bytes) == 0;
  CHECK(done);
}

class Place {
 public:
  Place() {
    EngineOptions o;
    o.model_path = checkpoint_.path();
    o.cache_dir = cache_.path();
    o.kv_type = KvType::kF32;
    o.n_threads = 2;
    schema = must(LoadedSchema::parse(must(Engine::open(o)), kSchema, ""));
  }

  std::unique_ptr<Session> open() const {
    SessionOptions o;
    o.max_tokens = kTokens;
    return must(Session::open(must(LoadedPrompt::parse(schema, kPrompt)), o));
  }
  // All tokens of an answer, or the first error.
  static Result<Tokens> answer(Session& session) {
    Tokens tokens;
    while (true) {
      PC_TRY(const std::optional<TokenId> token, session.next());
      if (!token) return tokens;
      tokens.push_back(*token);
    }
  }
  Tokens answer() const { return must(answer(*open())); }

  // The file of the module with the most tokens: "a".
  std::string module_file() const {
    std::string largest;
    std::uintmax_t size = 0;
    for (const auto& entry : std::filesystem::directory_iterator(cache_.path() + "/v3/objects"))
      if (entry.file_size() > size) size = entry.file_size(), largest = entry.path().string();
    REQUIRE(size > 0);
    return largest;
  }
  std::size_t n_set_aside() const {
    const std::filesystem::directory_iterator aside(cache_.path() + "/v3/quarantine");
    return static_cast<std::size_t>(std::distance(begin(aside), end(aside)));
  }
  std::string weights() const { return checkpoint_.path() + "/model.safetensors"; }

  std::shared_ptr<LoadedSchema> schema;

 private:
  TinyCheckpoint checkpoint_{33};
  TempFolder cache_;
};

TEST_CASE("a module that was overwritten is noticed by the next session, and made again") {
  const Place place;
  const Tokens expected = place.answer();
  overwrite_payload(place.module_file());
  const auto session = place.open();
  CHECK(must(Place::answer(*session)) == expected);
  CHECK(session->stats().modules_encoded == 1);
  CHECK(place.n_set_aside() == 1);
  const auto next = place.open();
  CHECK(must(Place::answer(*next)) == expected);
  CHECK(next->stats().modules_encoded == 0);
}

TEST_CASE("a module that only lost its name, or got another time, gives the same answers") {
  const Place place;
  const Tokens expected = place.answer();
  REQUIRE(::chmod(place.module_file().c_str(), 0444) == 0);
  const auto session = place.open();
  CHECK(must(Place::answer(*session)) == expected);
  CHECK(session->stats().modules_encoded == 0);  // the sums say that it is sound
  REQUIRE(::unlink(place.module_file().c_str()) == 0);
  CHECK(place.answer() == expected);
  CHECK(place.n_set_aside() == 0);
}

TEST_CASE("a module that is cut short under an answer is that answer's error") {
  REQUIRE(guard_mappings().ok());
  const Place place;
  const Tokens expected = place.answer();
  const auto session = place.open();
  REQUIRE(session->next().ok());
  const std::string file = place.module_file();
  cut(file, 0);
  const auto broken = Place::answer(*session);
  REQUIRE_FALSE(broken.ok());
  CHECK(broken.error().code == Code::kIo);
  CHECK(broken.error().message.find(std::filesystem::path(file).stem().string()) !=
        std::string::npos);
  CHECK(broken.error().message.find("cut short") != std::string::npos);
  CHECK(place.answer() == expected);
  CHECK(place.n_set_aside() == 1);
}

TEST_CASE("a module that is overwritten under an answer is that answer's error") {
  const Place place;
  const Tokens expected = place.answer();
  const auto session = place.open();
  REQUIRE(session->next().ok());
  overwrite_payload(place.module_file());
  const auto broken = Place::answer(*session);
  REQUIRE_FALSE(broken.ok());
  CHECK(broken.error().code == Code::kIo);
  CHECK(broken.error().message.find("written to") != std::string::npos);
  CHECK(place.answer() == expected);
}

TEST_CASE("answers of many threads whose module is cut short fail or are right") {
  REQUIRE(guard_mappings().ok());
  const Place place;
  const Tokens expected = place.answer();
  std::atomic<int> n_failed{0}, n_right{0}, n_wrong{0};
  for (int round = 0; round < 8; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        const auto session = place.open();
        const auto tokens = Place::answer(*session);
        if (!tokens.ok())
          ++(tokens.error().code == Code::kIo ? n_failed : n_wrong);
        else
          ++(*tokens == expected ? n_right : n_wrong);
      });
    cut(place.module_file(), 100);
    for (std::thread& thread : threads) thread.join();
    CHECK(place.answer() == expected);
  }
  CHECK(n_wrong == 0);
  CHECK(n_failed + n_right == 32);
}

TEST_CASE("a conversation that used a module that was overwritten is not kept") {
  Apartment home;
  const auto session = home.open({{pml::Role::kUser, " " + kLong + " What does it cost?", "doc"}});
  (void)must(Place::answer(*session));
  const std::string objects = home.cache() + "/v3/objects";
  for (const auto& entry : std::filesystem::directory_iterator(objects))
    overwrite_payload(entry.path().string());
  const std::size_t n_files = home.n_files();
  const auto kept = session->keep();  // computes the answer's last token
  REQUIRE_FALSE(kept.ok());
  CHECK(kept.error().code == Code::kIo);
  CHECK(home.n_files() == n_files);
}

// Cuts short the first file without a name that this process has open and that is larger than a
// page; false where there was none in time.
bool cut_a_draft(const std::atomic<bool>& over) {
  while (!over) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const auto target = std::filesystem::read_symlink(entry, gone).string();
      struct stat st {};
      if (target.ends_with(" (deleted)") && ::stat(entry.path().c_str(), &st) == 0 &&
          S_ISREG(st.st_mode) && st.st_size > 4096)
        return ::truncate(entry.path().c_str(), 0) == 0;
    }
  }
  return false;
}

TEST_CASE("a module whose file is lost while it is written is an error, and made the next time") {
  REQUIRE(guard_mappings().ok());
  const TinyCheckpoint checkpoint(3);
  std::string text;
  for (int i = 0; i < 60; ++i) text += "The tram is late. ";
  const std::string pml = "<schema name='s'><module name='a'>" + text + "</module></schema>";
  int n_lost = 0;
  for (int round = 0; round < 200 && n_lost < 3; ++round) {
    const TempFolder cache;
    EngineOptions o;
    o.model_path = checkpoint.path();
    o.cache_dir = cache.path();
    o.kv_type = KvType::kF32;
    o.n_threads = 2;
    const auto schema = must(LoadedSchema::parse(must(Engine::open(o)), pml, ""));
    std::atomic<bool> over{false};
    std::jthread cutter([&] { cut_a_draft(over); });
    const auto first = schema->encode(schema->modules(), [](auto&&...) { return true; });
    over = true;
    cutter.join();
    if (!first.ok()) {
      INFO(first.error().message);
      CHECK(first.error().code == Code::kIo);
      CHECK(first.error().message.find("is the disk sound?") != std::string::npos);
      ++n_lost;
    }
    CHECK(schema->encode(schema->modules(), [](auto&&...) { return true; }).ok());
  }
  CHECK(n_lost > 0);
}

TEST_CASE("a model that was written to answers nothing more") {
  const Place place;
  (void)place.answer();
  overwrite_payload(place.weights());
  SessionOptions o;
  const auto refused = Session::open(must(LoadedPrompt::parse(place.schema, kPrompt)), o);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::kIo);
  CHECK(refused.error().message.find("open the model again") != std::string::npos);
}

TEST_CASE("a model that is moved goes on") {
  const Place place;
  const Tokens expected = place.answer();
  std::filesystem::rename(place.weights(), place.weights() + ".moved");
  CHECK(place.answer() == expected);
}

TEST_CASE("a model that is cut short under an answer is that answer's error") {
  REQUIRE(guard_mappings().ok());
  const Place place;
  const auto session = place.open();
  REQUIRE(session->next().ok());
  cut(place.weights(), 0);
  const auto broken = Place::answer(*session);
  REQUIRE_FALSE(broken.ok());
  CHECK(broken.error().code == Code::kIo);
  CHECK(broken.error().message.find("model") != std::string::npos);
}

TEST_CASE("packed weights that are cut short under an answer are that answer's error") {
  if (!simd::selected_kernels()->matmul_packed) return;  // nothing is packed
  REQUIRE(guard_mappings().ok());
  const TempFolder cache;
  EngineOptions o;
  o.model_path = golden("gguf/llama_q8_0.gguf");
  o.cache_dir = cache.path();
  o.n_threads = 2;
  const auto schema = must(LoadedSchema::parse(must(Engine::open(o)), "<schema name='s'/>", ""));
  SessionOptions answer;
  answer.max_tokens = kTokens;
  const auto session = must(
      Session::open(must(LoadedPrompt::parse(schema, "<prompt schema='s'>abc</prompt>")), answer));
  REQUIRE(session->next().ok());
  for (const auto& entry : std::filesystem::directory_iterator(cache.path() + "/packed"))
    if (entry.path().filename().string().size() == 64) cut(entry.path().string(), 0);
  const auto broken = Place::answer(*session);
  REQUIRE_FALSE(broken.ok());
  CHECK(broken.error().code == Code::kIo);
  CHECK(broken.error().message.find("packed weights was cut short") != std::string::npos);
}

}  // namespace
}  // namespace pc::test
