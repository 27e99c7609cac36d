// Files that must be refused: the corpus of tests/golden/make_bad_models.py,
// through the engine, or what opens the one file in a folder.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "runtime/checkpoint/safetensors.h"
#include "runtime/engine/engine.h"
#include "runtime/json/json.h"
#include "runtime/tokenizer/files/tokenizer_loader.h"
#include "tests/support/count_allocations.h"
#include "tests/support/cpu_seconds.h"

using namespace pc;
using namespace pc::test;

namespace {

namespace fs = std::filesystem;

// Work as large as what a file claims would take minutes; refusing takes milliseconds.
constexpr double kSeconds = 1;
constexpr long kBytes = 64 << 20;

fs::path corpus() {
  const char* source = std::getenv("PC_SOURCE_DIR");
  return fs::path(source ? source : ".") / "tests" / "golden" / "bad_models";
}

template <class T>
std::optional<Error> error_of(const Result<T>& result) {
  return result.ok() ? std::nullopt : std::optional(result.error());
}

std::optional<Error> open(const std::string& path) {
  if (path.ends_with(".gguf")) {
    EngineOptions options;
    options.model_path = path;
    options.cache_mode = CacheMode::kOff;
    options.n_threads = 1;
    return error_of(Engine::open(options));
  }
  if (fs::exists(path + "/model.safetensors")) return error_of(open_safetensors(path));
  return error_of(load_tokenizer(path));
}

bool is_sane(Code code) {
  return code == Code::kNotFound || code == Code::kCorrupt || code == Code::kUnsupported ||
         code == Code::kMismatch;
}

// One sentence that names the file, in little time and memory.
void check_refused(const std::string& name, const std::string& sentence) {
  INFO(name);
  const double begin = cpu_seconds();
  const long bytes = allocated_bytes();
  const auto error = open((corpus() / name).string());
  CHECK(cpu_seconds() - begin < kSeconds);
  CHECK(allocated_bytes() - bytes < kBytes);
  REQUIRE(error);
  INFO(error->message);
  CHECK(is_sane(error->code));
  CHECK_THAT(error->message, Catch::Contains(sentence) && Catch::Contains(name));
  for (const char c : error->message) CHECK(static_cast<unsigned char>(c) >= ' ');
}

}  // namespace

TEST_CASE("every bad file is refused in one sentence, quickly and in little memory") {
  const auto index = JsonDocument::read_file((corpus() / "index.json").string());
  REQUIRE(index.ok());
  std::set<std::string> names;
  std::size_t n_gguf = 0;
  const auto walked = index->root().for_each_member([&](std::string_view key, JsonView value) {
    const std::string name(key), sentence(*value.string());
    names.insert(name);
    n_gguf += name.ends_with(".gguf");
    if (sentence.empty()) {
      const auto error = open((corpus() / name).string());
      INFO(name << ": " << (error ? error->message : ""));
      CHECK_FALSE(error);
    } else {
      check_refused(name, sentence);
    }
    return ok();
  });
  REQUIRE(walked.ok());
  CHECK(n_gguf >= 33);
  for (const auto& entry : fs::directory_iterator(corpus())) {
    const std::string name = entry.path().filename().string();
    INFO(name);
    CHECK((names.contains(name) || name == "index.json"));
  }
}
